"""Sizes and lengths that nothing in the protocol may exceed (003 section 7, our choice where silent)."""

MAX_BODY_BYTES = 64 * 1024
MAX_JSON_DEPTH = 32
MAX_NAME_CHARS = 64
MAX_ENDPOINT_CHARS = 300
MAX_ID_CHARS = 64
MAX_VERSION_CHARS = 32
MAX_GAME_TYPES = 16
MAX_CONCURRENT_MATCHES = 256
MAX_TRANSCRIPT_BODY_BYTES = 4 * 1024
"""A body on a transcript longer than this is cut, with a mark."""
MAX_TRANSCRIPT_DEPTH = 16
"""A body nested deeper is cut, too: a report puts its own levels around it, and must be read."""
MAX_ANSWER_BYTES = 64 * 1024
"""The most we read of any answer of an agent."""
MAX_SEEN_CHARS = 120
"""How much of a wrong value an error repeats."""
