"""One request to one player, as referees make it in matches and the check outside them (decision 5)."""
