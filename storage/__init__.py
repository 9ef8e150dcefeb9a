"""How rows are reached fast: databases and their settings, prepared statements. It knows no model of the site."""
