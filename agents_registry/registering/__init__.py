"""WRITES: agents, from their registration on."""
