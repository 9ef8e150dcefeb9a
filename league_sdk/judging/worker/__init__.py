"""What a referee process does: it takes matches, plays them, keeps its leases and reports."""
