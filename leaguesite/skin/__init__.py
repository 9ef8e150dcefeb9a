"""The looks of the admin."""
