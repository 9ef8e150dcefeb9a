"""What happens is counted and logged here."""
