"""The one HTTP client: deadlines, size caps, circuit breaker, and which addresses may be called."""
