"""Rate limits: how often an address, an agent or a secret may try something."""
