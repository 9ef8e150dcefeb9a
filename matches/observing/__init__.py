"""What happens is counted, logged and traced (``telemetry``), and what it is counted in (``metrics``)."""
