"""A referee process that was stopped and goes on calls no player if another referee may have the match (ruling, 10)."""

from collections.abc import Callable

import pytest

from league_sdk.judging.match.broken_off import Fenced
from league_sdk.judging.worker.referee import Referee
from tests.league_sdk.judging.staged import KEY, SEAT, Stage, begin, in_play
from tests.league_sdk.judging.starts import START, Link


def the_lease_runs_out(stage: Stage) -> None:
    assert stage.clock.at is not None
    stage.clock.at += 10


def the_site_ends(stage: Stage) -> None:
    """A new site has given the match to another referee by now."""
    stage.uses.orphaned = lambda: True


@pytest.mark.parametrize("meanwhile", [the_lease_runs_out, the_site_ends])
async def test_no_player_is_called_once_another_referee_may_have_the_match(
    referee: Referee, link: Link, stage: Stage, meanwhile: Callable[[Stage], None]
) -> None:
    stage.clock.at = 1000.0
    await begin(referee, START | {"settings": {"referee_lease_s": 8}})
    stage.clock.at += 5.9
    await stage.asks[KEY](SEAT, {"message_type": "CHOOSE_PARITY_CALL"}, limit_s=5.0)
    # The process was stopped here and does not know it: next it would send GAME_OVER.
    meanwhile(stage)
    with pytest.raises(Fenced) as caught:
        await stage.asks[KEY](SEAT, {"message_type": "GAME_OVER"}, limit_s=5.0)
    await stage.end_and_settle(caught.value)
    (caller,) = stage.callers
    assert caller.called == ["CHOOSE_PARITY_CALL"]
    assert (in_play(referee), link.reports) == (False, [])
    # It is not handed back either, because another referee has it now.
    assert all(item["state"] != "HANDED_BACK" for heartbeat in link.heartbeats for item in heartbeat)
