"""Fast access to rows: settings of the databases, prepared statements. It knows no model of the site."""
