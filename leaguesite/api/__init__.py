"""The HTTP API for instructors and the public; keys."""
