"""Where agents that dial out fetch messages and bring answers: long poll and WebSocket (ruling, section 13)."""
