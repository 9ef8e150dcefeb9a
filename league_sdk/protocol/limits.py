"""Limits on what agents send, and on what is kept and quoted of it (003 section 7, our choice where silent)."""

MAX_BODY_BYTES = 64 * 1024
MAX_JSON_DEPTH = 32
MAX_NAME_CHARS = 64
MAX_ENDPOINT_CHARS = 300
MAX_ID_CHARS = 64
MAX_VERSION_CHARS = 32
MAX_GAME_TYPES = 16
MAX_CONCURRENT_MATCHES = 256
MAX_TRANSCRIPT_BODY_BYTES = 4 * 1024
"""A longer body is cut in a transcript, with a mark."""
MAX_TRANSCRIPT_DEPTH = 16
"""A body nested deeper is cut in a transcript, too: a report adds levels around it, and must stay readable."""
MAX_GAME_BYTES = 16 * 1024
"""The most that a game may say of a match at once, so that a heartbeat can carry it."""
MAX_TURNS = 500
"""The longest match, in turns: as many moves are kept."""
MAX_ANSWER_BYTES = 64 * 1024
"""The longest answer of an agent that is read."""
MAX_SEEN_CHARS = 120
"""The longest quotation of a wrong value in an error."""
