"""The door of a referee: the child process that reads what strangers send, and the judging process' side of it."""
