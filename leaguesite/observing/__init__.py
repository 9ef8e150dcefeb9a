"""Health, logs, reports of crashes."""
