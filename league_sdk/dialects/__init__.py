"""Ways of speaking league.v2: how to wrap a call to an agent and how to read its answer."""
