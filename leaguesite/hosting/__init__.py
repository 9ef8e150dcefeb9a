"""The site's processes: host, children, their place on this machine, backups."""
