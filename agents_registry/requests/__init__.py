"""What an agent says of itself in a registration request. No database."""
