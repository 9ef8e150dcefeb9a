"""How often anybody may try something."""
