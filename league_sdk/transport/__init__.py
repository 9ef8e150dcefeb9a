"""HTTP clients: deadlines, size caps, circuit breaker, and which addresses may be called."""
