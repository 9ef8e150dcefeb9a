"""Steps: referees report results and progress, and do not accept a start."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from matches.league import losses
from matches.models import Match
from tests import factories as make
from tests.matches.deliveries import model_words as words
from tests.matches.deliveries.steps import ATTEMPTS, OUTCOMES, PICKS, SENDERS, STATES, TIMES, Compared


class RefereesReport(Compared):
    """Reports and progress."""

    @precondition(lambda self: self.world.matches)
    @rule(pick=PICKS, offset=ATTEMPTS, outcome=OUTCOMES, sender=SENDERS, wrong_name=st.integers(0, 39), times=TIMES)
    def report(self, pick: int, offset: int | None, outcome: str, sender: str, wrong_name: int, times: int) -> None:
        match_id, match = self.pick_match(pick) or ("R9M9", words.Match(("P01", "P02"), 1))
        token, code = self.who(sender, match.referee)
        # Sometimes the report names a match or a league that does not exist.
        match_id, league = ("R9M9" if wrong_name == 0 else match_id), ("nowhere" if wrong_name == 1 else "fall")
        attempt = None if offset is None else max(0, match.attempt + offset)
        a, b = match.players
        winner = {"A": a, "B": b, "A, B unusable": a, "A, B silent": a, "A, A silent": a, "unknown winner": "P77"}.get(
            outcome
        )
        status = {
            "draw": "DRAW",
            "draw, both silent": "DRAW",
            "cancelled": "CANCELLED",
            "nobody came": "CANCELLED",
            "A": "WIN",
            "B": "WIN",
            "unknown winner": "WIN",
        }.get(outcome, "TECHNICAL_LOSS")
        silent = {
            "A, B silent": [b],
            "A, A silent": [a],
            "both silent": [a, b],
            "draw, both silent": [a, b],
            "nobody came": [a, b],
        }.get(outcome, [])
        fields = {
            "league_id": league,
            "round_id": match.round,
            "match_id": match_id,
            "attempt": attempt,
            "status": status,
            "result": {"winner": winner, "score": {}, "details": {}},
            "faults": [{"player_id": player, "error_code": "E001"} for player in silent],
            "transcript": [make.entry(0, body=outcome)],
        }
        params = self.message_from(token, code, "MATCH_RESULT_REPORT", **fields)
        self.message(
            "report_match_result",
            params,
            "10.0.1.1",
            lambda: self.world.report(token, code, league, match_id, attempt, outcome),
            times,
        )

    @precondition(lambda self: self.playing())
    @rule(pick=PICKS, outcome=OUTCOMES, times=TIMES)
    def report_now(self, pick: int, outcome: str, times: int) -> None:
        """The referee of a match that is being played reports its result."""
        # `pick_match` takes a match in play for a pick that three does not divide; 39 is no wrong name.
        self.report(3 * pick + 1, 0, outcome, "right", 39, times)

    @rule()
    def referees_are_alive(self) -> None:
        """Each referee reports the progress of its matches."""
        for judge in self.world.referees:
            theirs = [(key, one) for key, one in self.world.matches.items() if one.referee == judge.code]
            reports = [
                (key, one.attempt, "COLLECTING_CHOICES", "") for key, one in theirs if one.phase == words.PLAYING
            ]
            if judge.tokens:
                self.send_progress(next(iter(judge.tokens)), judge.code, reports, False, 1)

    @rule(
        items=st.lists(
            st.tuples(PICKS, st.sampled_from([0, 0, 0, -1, 1]), STATES, st.sampled_from(["", "", "it broke"])),
            max_size=3,
        ),
        sender=SENDERS,
        judge=PICKS,
        leaving=st.sampled_from([False] * 5 + [True]),
        times=TIMES,
    )
    def progress(
        self, items: list[tuple[int, int, str, str]], sender: str, judge: int, leaving: bool, times: int
    ) -> None:
        first = self.pick_match(items[0][0]) if items else None
        right = first[1].referee if first else None
        if right is None and self.world.referees:
            right = self.world.referees[judge % len(self.world.referees)].code
        token, code = self.who(sender, right)
        reports = []
        for pick, offset, state, why in items:
            match = self.pick_match(pick)
            match_id, attempt = (match[0], match[1].attempt) if match else ("R1M1", 1)
            reports.append((match_id, max(0, attempt + offset), state, why))
        self.send_progress(token, code, reports, leaving, times)

    def send_progress(
        self, token: str | None, code: str, reports: list[tuple[str, int, str, str]], leaving: bool, times: int
    ) -> None:
        fields = [
            {"league_id": "fall", "match_id": match_id, "attempt": attempt, "state": state, "why": why}
            for match_id, attempt, state, why in reports
        ]
        params = self.message_from(token, code, "REPORT_PROGRESS", matches=fields, leaving=leaving)
        self.message(
            "report_progress", params, "10.0.1.1", lambda: self.world.progress(token, code, reports, leaving), times
        )

    @precondition(lambda self: self.world.matches)
    @rule(pick=PICKS, offset=st.integers(-1, 1), refused=st.booleans(), times=TIMES)
    def start_not_taken(self, pick: int, offset: int, refused: bool, times: int) -> None:
        """A start_match fails: the referee refuses it, or cannot be reached."""
        match_id, match = self.pick_match(pick) or ("", words.Match(("", ""), 0))
        attempt, row = match.attempt + offset, Match.objects.get(match_id=match_id)
        for _ in range(times):
            type(self).count += 1
            losses.undeliverable(losses.UntakenStart(row.pk, attempt, row.lease_until, "no", refused))
            self.world.start_failed(match_id, attempt, refused=refused)
        self.compare()
