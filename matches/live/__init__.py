"""Which browser looks at which page now, and what it is sent: whole fragments with a sequence number."""
