"""The theme of the admin."""
