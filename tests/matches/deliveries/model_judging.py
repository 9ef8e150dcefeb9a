"""The model: what referees report, and what players answer to the league manager (ruling, sections 8, 10)."""

from __future__ import annotations

from tests.matches.deliveries.model_league import ModelState
from tests.matches.deliveries.model_words import (
    FINISHED,
    MAX_RELAYED_ANSWERS,
    PLAYING,
    READY,
    SHUTDOWN_AFTER,
    STEPS,
    SUSPEND_AFTER,
    Agent,
    Match,
    is_in_play,
)


class Judging(ModelState):
    """Reports, progress, starts that failed, and answers that came to the league manager."""

    def _sender_or_error(self, token: str | None, sender: str | None, league: str | None) -> Agent | str:
        """The agent that a message is from; or the error code, if it is refused before its contents are read."""
        if league not in (None, "fall"):
            return "E014"
        if token is None:
            return "E011"
        agent = self.owner(token)
        if agent is None:
            return "E012"
        return agent if sender is None or sender == agent.code else "E012"

    def hear_from(self, referee: Agent) -> None:
        referee.last_call_at, referee.suspended = self.now, False

    def report(
        self, token: str | None, sender: str, league: str, match_id: str, attempt: int | None, outcome: str
    ) -> str:
        agent = self._sender_or_error(token, None, league)
        if isinstance(agent, str):
            return agent
        if agent.prefix == "P":
            return "E013"
        if sender != agent.code:
            return "E012"
        match = self.matches.get(match_id)
        if match is None:
            return "E002"
        claimed = match.attempt if attempt is None else attempt
        if match.referee != agent.code:
            # Only who lost an attempt is told that it is over.
            return "IGNORED" if claimed < match.attempt and match.lost_by.get(claimed) == agent.code else "E013"
        if outcome == "unknown winner":
            return "E002"
        self.hear_from(agent)
        begins_alone = agent.trusted and not agent.sends_progress and attempt in (None, 1)
        if match.phase == READY and match.attempt == 0 and begins_alone:
            # A student's referee may begin its matches when it gets the announcement of the round.
            self.assign(match, agent)
            claimed = match.attempt if attempt is None else attempt
        if match.phase == FINISHED:
            return "DUPLICATE"
        if match.phase != PLAYING or claimed != match.attempt:
            return "IGNORED"
        a, b = match.players
        # Faults of whoever wins or draws are dropped.
        silent = {"A, B silent": [b], "both silent": [a, b], "nobody came": [a, b]}.get(outcome, [])
        for player in self.players:
            # A student's referee is believed about the result and about nothing else.
            if player.code in match.players and agent.site_key:
                self._count_silence(player, silent=player.code in silent)
        self.finish(
            match,
            {
                "A": ("WIN", a),
                "B": ("WIN", b),
                "draw": ("DRAW", None),
                "draw, both silent": ("DRAW", None),
                "cancelled": ("CANCELLED", None),
                "nobody came": ("CANCELLED", None),
                "both silent": ("TECHNICAL_LOSS", None),
            }.get(outcome, ("TECHNICAL_LOSS", a)),
            silent,
        )
        return "ACCEPTED"

    def _count_silence(self, player: Agent, *, silent: bool) -> None:
        if not silent:
            player.silences, player.state = 0, "ACTIVE" if player.state == "SUSPENDED" else player.state
            return
        player.silences += 1
        if player.silences >= SUSPEND_AFTER and player.state in ("ACTIVE", "REGISTERED"):
            player.state = "SUSPENDED"
        if player.silences >= SHUTDOWN_AFTER and player.state == "SUSPENDED":
            player.state = "SHUTDOWN"

    def progress(
        self, token: str | None, sender: str, items: list[tuple[str, int, str, str]], leaving: bool
    ) -> str | tuple[str, ...]:
        agent = self._sender_or_error(token, sender, None)
        if isinstance(agent, str):
            return agent
        if agent.prefix == "P":
            return "E013"
        if leaving:
            agent.suspended = True
        else:
            self.hear_from(agent)
        mine = {
            key: match.attempt
            for key, match in self.matches.items()
            if match.referee == agent.code and is_in_play(match)
        }
        answers = []
        for match_id, attempt, state, why in items:
            match = self.matches.get(match_id)
            # The report itself may have handed it back before.
            alive = mine.get(match_id) == attempt and match is not None and is_in_play(match)
            answers.append("ok" if alive else "lost")
            if not alive or match is None:
                continue
            if state == "HANDED_BACK":
                self.lose_attempt(match, counts=bool(why))
            else:
                self._renew(match, agent, STEPS.index(state))
        return tuple(answers)

    def _renew(self, match: Match, referee: Agent, step: int) -> None:
        """A further step of the match renews its lease; a repeated one does when a tenth of the lease is gone.

        An attempt of a student's referee ends after the longest match, whatever it reports.
        """
        full_lease_s = self.lease_of(referee)
        if not referee.site_key:
            full_lease_s = min(full_lease_s, match.assigned_at + self.longest_match_s - self.now)
        if step > match.step or match.lease_until is None or match.lease_until - self.now < 0.9 * full_lease_s:
            match.lease_until = self.now + full_lease_s
        match.step = max(match.step, step)

    def start_failed(self, match_id: str, attempt: int, *, refused: bool) -> None:
        """A start_match failed: the referee refused it, or was not reached."""
        match = self.matches[match_id]
        referee = self.referee(match.referee)
        if is_in_play(match) and match.attempt == attempt and referee is not None:
            referee.suspended = True
            self.lose_attempt(match, counts=refused)

    def answer(self, token: str | None, match_id: str | None) -> str:
        """A player's answer that came to the league manager instead of its referee."""
        agent = self._sender_or_error(token, None, None)
        if isinstance(agent, str):
            return agent
        if agent.prefix != "P":
            return "E002"
        theirs = [key for key, match in self.matches.items() if agent.code in match.players and is_in_play(match)]
        if not theirs or match_id not in (None, *theirs):
            return "E001"
        relayed = {pk: one for pk, one in self.outbox.items() if one.relayed_for == agent.code}
        if sum(one.state == "PENDING" for one in relayed.values()) >= MAX_RELAYED_ANSWERS:
            return "E002"
        for pk, one in relayed.items():
            if one.state != "PENDING":
                del self.outbox[pk]
        return "RECEIVED"
