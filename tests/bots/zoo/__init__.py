"""The zoo: small players that speak as students' agents do, one for every way of speaking seen so far, and mixtures.

The bots use no code of the project: each knows one way of speaking only, and refuses the rest as its kind does.
``python -m tests.bots.zoo --help`` runs them.
"""
