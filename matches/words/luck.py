"""How much of a table is luck, in sentences."""

from __future__ import annotations

from django.utils.translation import gettext as _

from league_sdk.ledger.luck.figures import Luck, PlayerLuck


def places(player: PlayerLuck) -> str:
    """The places between which a player would be if its matches were played again."""
    if player.low == player.high:
        return str(player.low)
    return _("%(low)d to %(high)d") % {"low": player.low, "high": player.high}


def share(value: float) -> str:
    """A share in per cent; never 0 or 100, as nothing here is certain."""
    if value < 0.01:
        return _("less than 1 %%") % {}
    if value > 0.99:
        return _("more than 99 %%") % {}
    return _("%(percent)d %%") % {"percent": round(100 * value)}


def expected(player: PlayerLuck) -> str:
    """The points that a player's matches were worth on average; empty in a game of skill."""
    return "" if player.expected is None else f"{player.expected:.1f}"


def about_bars(luck: Luck, after_round: int) -> str:
    """What the bars of a table mean."""
    sentence = _(
        "The bars: from which place to which everyone would be if rounds 1 to %(round)d were played again, "
        "in nine of ten leagues."
    ) % {"round": after_round}
    if luck.is_game_of_chance or all(player.could_be_chance for player in luck.players.values()):
        return sentence
    hollow = _("A hollow bar: its results could be those of an average player, so its place could be chance.")
    return f"{sentence} {hollow}"


def about_table(luck: Luck) -> str:
    """That a whole table could be chance; empty if it could not."""
    if luck.is_game_of_chance:
        return _("In this game nobody can be better than another: every place could be chance.")
    if luck.table_could_be_chance:
        return _("Chance alone could have made this table: nobody is shown to be better than another.")
    return ""


def about_player(player: PlayerLuck, luck: Luck, after_round: int) -> str:
    """How much of a player's place is luck."""
    facts = {"round": after_round, "low": player.low, "high": player.high, "of": len(luck.players)}
    if player.low == player.high:
        sentence = _(
            "If rounds 1 to %(round)d were played again, its place would be %(low)d of %(of)d "
            "in at least nine of ten leagues."
        )
    else:
        sentence = _(
            "If rounds 1 to %(round)d were played again, its place would be between %(low)d and %(high)d of %(of)d "
            "in nine of ten leagues."
        )
    return f"{sentence % facts} {_worth(player) if luck.is_game_of_chance else _strength(player)}"


def _worth(player: PlayerLuck) -> str:
    sentence = _("In this game nobody can be better than another: every place could be chance.")
    if player.expected is None or player.spread is None:
        return sentence
    worth = _(
        "Its points: %(points)d; what its matches were worth on average: %(expected)s, give or take %(spread)s."
    ) % {
        "expected": f"{player.expected:.1f}",
        "spread": f"{player.spread:.1f}",
        "points": player.points,
    }
    return f"{sentence} {worth}"


def _strength(player: PlayerLuck) -> str:
    if player.could_be_chance or player.better is None:
        return _("Its results could be those of an average player: its place could be chance.")
    if player.better > 0.5:
        return _("That it is better than the average player is hardly luck.")
    return _("That it is weaker than the average player is hardly bad luck.")


def about_champion(player_id: str, player: PlayerLuck, luck: Luck) -> str:
    """How likely the champion is the best, and would be the champion again; empty if nothing can be said."""
    if player.best is None:
        return ""
    facts = {"player": player_id, "best": share(player.best), "again": share(player.first)}
    if luck.is_game_of_chance:
        return (
            _(
                "In this game nobody can be better than another: "
                "played again, %(player)s would be first with a probability of %(again)s."
            )
            % facts
        )
    return (
        _(
            "%(player)s is the best of all with a probability of %(best)s; "
            "played again, it would be first with a probability of %(again)s."
        )
        % facts
    )
