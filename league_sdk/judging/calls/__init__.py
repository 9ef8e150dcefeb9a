"""How a referee reaches players: one call in every way of speaking, and whose fault it is when it fails."""
