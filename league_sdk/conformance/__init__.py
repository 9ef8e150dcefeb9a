"""The check of an agent, clause by clause: what was sent, what came, what the documents expect."""
