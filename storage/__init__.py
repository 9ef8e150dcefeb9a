"""How rows are reached fast: SQLite's settings, prepared statements. It knows no model of the site."""
