"""A referee that was stopped and goes on: it calls nobody about a match that may be another's (ruling, section 10)."""

from types import SimpleNamespace
from typing import Any

import pytest

from league_sdk.judging import heartbeat
from league_sdk.judging import match_runner as module
from league_sdk.judging.brief import Seat
from league_sdk.judging.heard import Heard
from league_sdk.judging.referee import Referee
from tests.league_sdk.judging.staged import KEY, SEAT, Stage, begin, in_play
from tests.league_sdk.judging.starts import START, Link


class Line:
    """A line to players who answer at once; it keeps what they were asked."""

    def __init__(self, *_: object) -> None:
        self.called: list[str] = []

    def for_match(self, *_: object) -> tuple[Any, Any]:
        async def call(seat: Seat, message: dict[str, Any], *, limit_s: float) -> Heard:
            self.called.append(message["message_type"])
            return Heard()

        return call, call

    async def aclose(self) -> None:
        """Nothing is open."""


async def test_no_player_is_called_once_the_lease_may_have_run_out(
    referee: Referee, link: Link, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Line()
    monkeypatch.setattr(module, "PlayerLine", lambda *_: line)
    moment = 1000.0
    monkeypatch.setattr(heartbeat, "time", SimpleNamespace(monotonic=lambda: moment))
    await begin(referee, START | {"settings": {"referee_lease_s": 8}})
    moment += 5.9
    await stage.asks[KEY](SEAT, {"message_type": "CHOOSE_PARITY_CALL"}, limit_s=5.0)
    # It was stopped here, and nothing has told it: the next thing it does would be to say how the match ended.
    moment += 10
    with pytest.raises(module.Fenced) as caught:
        await stage.asks[KEY](SEAT, {"message_type": "GAME_OVER"}, limit_s=5.0)
    await stage.over(caught.value)
    assert line.called == ["CHOOSE_PARITY_CALL"]
    assert (in_play(referee), link.reports) == (False, [])
    # It is not given back either: whoever has it now goes on with it.
    assert all(item["state"] != "HANDED_BACK" for heartbeat in link.heartbeats for item in heartbeat)


async def test_no_player_is_called_once_the_site_that_started_it_has_ended(
    link: Link, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, ended = Line(), False
    monkeypatch.setattr(module, "PlayerLine", lambda *_: line)
    referee = Referee(link, endpoint="http://127.0.0.1:8001/mcp", max_concurrent=2, orphaned=lambda: ended)
    await begin(referee)
    await stage.asks[KEY](SEAT, {"message_type": "CHOOSE_PARITY_CALL"}, limit_s=5.0)
    # It stood still while the site was killed; the new one has given the match to another referee by now.
    ended = True
    with pytest.raises(module.Fenced) as caught:
        await stage.asks[KEY](SEAT, {"message_type": "GAME_OVER"}, limit_s=5.0)
    await stage.over(caught.value)
    assert (line.called, in_play(referee), link.reports) == (["CHOOSE_PARITY_CALL"], False, [])
    await referee.aclose()
