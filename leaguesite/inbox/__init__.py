"""Where agents that dial out fetch messages and send answers: long poll and WebSocket (ruling, section 13)."""
