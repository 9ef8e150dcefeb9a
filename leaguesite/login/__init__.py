"""The door of the desk: accounts, and what wrong passwords cost."""
