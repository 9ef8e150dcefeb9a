"""Who may bring agents to a league."""
