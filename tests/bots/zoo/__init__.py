"""Small player agents that speak as students' agents do: one for every way of speaking that was seen, and mixtures.

Nothing here imports the project: each bot knows its own document and no more, and refuses what its kind refuses.
``python -m tests.bots.zoo --help`` runs them.
"""
