"""How a referee calls players: in a dialect that they understand, and with evidence of whose fault a failure is."""
