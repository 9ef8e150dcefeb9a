"""The site's processes: host, web and conductor, child processes, what is settled before they serve, backups."""
