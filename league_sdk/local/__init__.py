"""A whole league in one process: players, referee and table, without a server, a port or a file."""
