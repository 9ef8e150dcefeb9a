"""What the check demands of agents, as data: a table of rules for each role."""
