"""Steps: players and referees register, and players answer to the league manager instead of their referee."""

from __future__ import annotations

from django.conf import settings as site
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from agents_registry.models import Agent
from agents_registry.registering import moving
from tests import wire
from tests.matches.deliveries.steps import CALLERS, MACHINES, NAMES, PICKS, TIMES, Compared


class AgentsCome(Compared):
    """Registrations and answers."""

    @rule(
        name=NAMES,
        at=MACHINES,
        caller=CALLERS,
        token=st.none() | PICKS,
        wanted=st.none() | st.integers(1, 9),
        league=st.sampled_from(["fall"] * 6 + [None, None, "nowhere"]),
        times=TIMES,
    )
    def player(
        self,
        name: str,
        at: str,
        caller: str | None,
        token: int | None,
        wanted: int | None,
        league: str | None,
        times: int,
    ) -> None:
        sent_token = self.tokens[token % len(self.tokens)] if token is not None and self.tokens else None
        self.send_player(name, at, caller or at, sent_token, wanted, league, times)

    def send_player(
        self,
        name: str,
        at: str,
        source: str,
        sent_token: str | None,
        wanted: int | None,
        league: str | None,
        times: int,
    ) -> None:
        """A player registers; the parameters are the values in its message, and ``source`` is its caller."""
        params = wire.player_request(
            name, endpoint=f"http://{at}:8101/mcp", league_id=league, sender=f"player:{name}", auth_token=sent_token
        )
        if wanted is not None:
            params["player_id"] = f"P{wanted:02d}"
        self.message(
            "register_player",
            params,
            source,
            lambda: self.world.register_player(name, at, source, sent_token, wanted, league),
            times,
        )

    @rule(
        name=st.sampled_from(["Judge 1", "Judge 2", "Judge 3"]),
        at=st.sampled_from(["10.0.1.1", "10.0.1.2"]),
        caller=CALLERS,
        token=st.none() | PICKS,
        key=st.sampled_from([True, False, False]),
        progress=st.sampled_from([True, True, False]),
        times=TIMES,
    )
    def referee(
        self, name: str, at: str, caller: str | None, token: int | None, key: bool, progress: bool, times: int
    ) -> None:
        sent_token = self.tokens[token % len(self.tokens)] if token is not None and self.tokens else None
        code = {"code": site.LEAGUE_REFEREE_KEY} if key else {}
        endpoint = f"http://{at}:800{name[-1]}/mcp"
        params = wire.referee_request(
            name, endpoint=endpoint, room=10, progress=progress, auth_token=sent_token, **code
        )
        source = caller or at
        self.message(
            "register_referee",
            params,
            source,
            lambda: self.world.register_referee(name, at, source, sent_token, key, progress),
            times,
        )

    @precondition(lambda self: any(one.move for one in (*self.world.players, *self.world.lobby)))
    @rule(pick=PICKS, answered=st.sampled_from([True, True, False]), elsewhere=st.none() | MACHINES, times=TIMES)
    def called_at_the_new_address(self, pick: int, answered: bool, elsewhere: str | None, times: int) -> None:
        """A player that moves is called there and answers or not; or the outcome of an earlier call comes late."""
        moving_ones = [one for one in (*self.world.players, *self.world.lobby) if one.move]
        player = moving_ones[pick % len(moving_ones)]
        machine = elsewhere or (player.move.machine if player.move else "")
        league = "fall" if any(one is player for one in self.world.players) else None
        row = Agent.objects.get(kind="player", league=league, code=player.code)
        for _ in range(times):
            type(self).count += 1
            moving.note_call(agent_id=row.pk, endpoint=f"http://{machine}:8101/mcp", answered=answered)
            self.world.was_called_there(player, machine, answered=answered)
        self.compare()

    @precondition(lambda self: self.world.players)
    @rule(
        pick=PICKS,
        named=st.none() | PICKS,
        kind=st.sampled_from(["GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE"]),
        by=st.sampled_from(["it"] * 5 + ["nobody", "referee"]),
        times=TIMES,
    )
    def answer(self, pick: int, named: int | None, kind: str, by: str, times: int) -> None:
        player = self.world.players[pick % len(self.world.players)]
        match = self.pick_match(named) if named is not None else None
        match_id = match[0] if match else None
        token = next(reversed(player.tokens), None) if by == "it" else self.who("right", None)[0]
        token = None if by == "nobody" else token
        params = {"auth_token": token, "match_id": match_id, "accept": True, "parity_choice": "odd"}
        self.message(kind, params, player.machine, lambda: self.world.answer(token, match_id), times)

    @precondition(lambda self: self.playing())
    @rule(pick=PICKS, kind=st.sampled_from(["GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE"]), times=TIMES)
    def answer_now(self, pick: int, kind: str, times: int) -> None:
        code = self.playing()[pick % len(self.playing())].players[pick % 2]
        index = next(index for index, one in enumerate(self.world.players) if one.code == code)
        self.answer(index, None, kind, "it", times)
