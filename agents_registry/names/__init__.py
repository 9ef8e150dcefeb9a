"""Names that look like another's."""
