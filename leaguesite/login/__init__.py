"""Logging in to the desk: accounts and keys, and limits on wrong ones."""
