"""Foreign agents: agents that speak as no document describes, but as students may write them from the course's text."""
