"""States, results, events and corrections in sentences, for people, in their language."""
