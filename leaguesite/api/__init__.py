"""The HTTP API for instructors and the public, and the keys that it asks for."""
