"""WRITES: every change of an agent, from its registration on."""
