"""The only place that tells other processes and browsers that something changed."""
