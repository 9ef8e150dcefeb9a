"""The conductor's loop: what is due, starts of matches, broadcasts, pings, trials."""
