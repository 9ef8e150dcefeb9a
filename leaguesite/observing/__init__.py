"""Health, metrics, logs, reports of crashes."""
