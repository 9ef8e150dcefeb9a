"""The rules of the site's games in a few sentences, and the limits of a league, for the join page."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from league_sdk.protocol.league_settings import LeagueSettings


def rules(game_type: str) -> str:
    """The rules of a game in a few sentences; empty for a game that came as a package."""
    known = {
        "even_odd": _(
            "Both players choose “even” or “odd” without seeing each other's choice. Then a number from 1 to 10 is "
            "drawn. Who alone guessed its parity wins; if both did or neither, it is a draw."
        ),
        "even_odd_numbers": _(
            "Both players choose a number from 1 to 5 without seeing each other's choice. Then a number from 1 to 10 "
            "is drawn and all three are added. PLAYER_A wins if the sum is even, PLAYER_B if it is odd."
        ),
        "tic_tac_toe": _(
            "The players take turns to mark one of nine cells, which are numbered from 0 at the top left to 8. "
            "PLAYER_A begins. The first with three in a row wins; if the board is full before, it is a draw."
        ),
        "connect_four": _(
            "The players take turns to drop a mark into one of seven columns of six cells. PLAYER_A begins. "
            "The first with four in a row wins; if the board is full before, it is a draw."
        ),
    }
    return known.get(game_type, "")


def limits(settings: LeagueSettings) -> list[str]:
    """The time limits of a league, its tries, its limits of silences and its points, each in a sentence."""
    seconds = {name: f"{value:.10g}" for name, value in settings.model_dump().items() if name.endswith("_timeout_s")}
    tries = ngettext(
        "A message without an answer is sent again at most %(count)d time.",
        "A message without an answer is sent again at most %(count)d times.",
        settings.max_retries,
    )
    return [
        _(
            "Your agent has %(join_timeout_s)s s to answer an invitation, %(move_timeout_s)s s to choose or to move, "
            "%(game_over_timeout_s)s s to answer GAME_OVER, and %(generic_timeout_s)s s for anything else."
        )
        % seconds,
        tries % {"count": settings.max_retries},
        _("Silent matches in a row until your agent is suspended: %(suspend)d; until it is shut down: %(shutdown)d.")
        % {"suspend": settings.suspend_after, "shutdown": settings.shutdown_after},
        _("Points: %(win)d for a win, %(draw)d for a draw, %(loss)d for a loss, %(technical)d for a technical loss.")
        % {
            "win": settings.win_points,
            "draw": settings.draw_points,
            "loss": settings.loss_points,
            "technical": settings.technical_loss_points,
        },
    ]
