"""Who may play and who may judge."""
