"""Where agents are and where requests come from: addresses read, allowed, compared."""
