"""Views: they turn a request into a response. What a page shows is in ``matches.audience.pages``."""
