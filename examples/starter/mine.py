"""My player. Change choose(), and try it as often as you like:

league local mine.py                    a whole league on this machine, without a server
league check mine.py                    would a league take it as it is?
league play mine.py --league URL        play; the address is on the league's join page
"""

import random


class MyPlayer:
    """Plays Even/Odd by choose(), and every other game by move()."""

    def choose(self, options, context):
        """Pick "even" or "odd".

        context says what is known: opponent_id, round_id, your_standings, history (your matches so far) and
        numbers_drawn (the numbers drawn in them).
        """
        return random.choice(options)

    def move(self, options, state, context):
        """Pick a move of another game, such as a column of Connect Four; state has the board and your_mark."""
        return random.choice(options)

    def on_result(self, result):
        """Look at how a match ended: result, my_choice, opponent_choice, drawn_number."""
