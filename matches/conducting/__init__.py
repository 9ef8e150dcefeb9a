"""The conductor's loop: do what is due, start matches, send broadcasts, pings and trials."""
