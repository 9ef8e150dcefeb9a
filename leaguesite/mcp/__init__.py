"""What agents call: routes, the dispatcher, methods, tools, admission."""
