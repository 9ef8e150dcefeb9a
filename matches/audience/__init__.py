"""What the class sees: pages, their views and addresses."""
