"""The instructor's pages in the admin: a league's state, buttons, forms, problems."""
