"""How much of a table is luck: where everyone would be if its matches were played again. Pure.

``matrices`` solves equations, ``strengths`` estimates how strong the players are, ``again`` plays the matches again,
and ``figures`` has the types of question and answer. ``python -m league_sdk.ledger.luck`` reads a question and
writes the answer.
"""
