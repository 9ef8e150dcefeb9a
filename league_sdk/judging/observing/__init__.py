"""What a referee counts, logs and traces."""
