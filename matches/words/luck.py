"""How much of a table is luck, in sentences."""

from __future__ import annotations

from django.utils.translation import gettext as _

from league_sdk.ledger.luck.figures import Luck, PlayerLuck


def places(one: PlayerLuck) -> str:
    """The places between which a player would be if its matches were played again."""
    if one.low == one.high:
        return str(one.low)
    return _("%(low)d to %(high)d") % {"low": one.low, "high": one.high}


def share(value: float) -> str:
    """A share in per cent; never 0 or 100, as nothing here is certain."""
    if value < 0.01:
        return _("less than 1 %%") % {}
    if value > 0.99:
        return _("more than 99 %%") % {}
    return _("%(percent)d %%") % {"percent": round(100 * value)}


def expected(one: PlayerLuck) -> str:
    """The points that a player's matches were worth on average; empty in a game of skill."""
    return "" if one.expected is None else f"{one.expected:.1f}"


def about_bars(luck: Luck, after_round: int) -> str:
    """What the bars of a table mean."""
    sentence = _(
        "The bars: from which place to which everyone would be if rounds 1 to %(round)d were played again, "
        "in nine of ten leagues."
    ) % {"round": after_round}
    if luck.chance or all(one.coin for one in luck.players.values()):
        return sentence
    hollow = _("A hollow bar: its results could be those of an average player, so its place could be chance.")
    return f"{sentence} {hollow}"


def about_coins(luck: Luck) -> str:
    """Whether a whole table could be luck; empty if not."""
    if luck.chance:
        return _("In this game nobody can be better than another: every place could be chance.")
    if luck.coin:
        return _("Chance alone could have made this table: nobody is shown to be better than another.")
    return ""


def about_player(one: PlayerLuck, luck: Luck, after_round: int) -> str:
    """How much of a player's place is luck."""
    facts = {"round": after_round, "low": one.low, "high": one.high, "of": len(luck.players)}
    if one.low == one.high:
        sentence = _(
            "If rounds 1 to %(round)d were played again, its place would be %(low)d of %(of)d "
            "in at least nine of ten leagues."
        )
    else:
        sentence = _(
            "If rounds 1 to %(round)d were played again, its place would be between %(low)d and %(high)d of %(of)d "
            "in nine of ten leagues."
        )
    return f"{sentence % facts} {_worth(one) if luck.chance else _strength(one)}"


def _worth(one: PlayerLuck) -> str:
    sentence = _("In this game nobody can be better than another: every place could be chance.")
    if one.expected is None or one.spread is None:
        return sentence
    worth = _(
        "Its points: %(points)d; what its matches were worth on average: %(expected)s, give or take %(spread)s."
    ) % {
        "expected": f"{one.expected:.1f}",
        "spread": f"{one.spread:.1f}",
        "points": one.points,
    }
    return f"{sentence} {worth}"


def _strength(one: PlayerLuck) -> str:
    if one.coin or one.better is None:
        return _("Its results could be those of an average player: its place could be chance.")
    if one.better > 0.5:
        return _("That it is better than the average player is hardly luck.")
    return _("That it is weaker than the average player is hardly bad luck.")


def about_champion(player_id: str, one: PlayerLuck, luck: Luck) -> str:
    """How likely the champion is the best, and would be the champion again; empty if nothing can be said."""
    if one.best is None:
        return ""
    facts = {"player": player_id, "best": share(one.best), "again": share(one.first)}
    if luck.chance:
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
