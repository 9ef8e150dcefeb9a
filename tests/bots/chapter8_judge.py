"""Checks that each message to a player is well formed, in order, and agrees with earlier ones (004 chapters 3, 4, 8).

Part of ``chapter8.py``; the standard library only, nothing of this project. No I/O: findings go to the two functions
that it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.bots.chapter8_shapes import (
    ANNOUNCED,
    ENVELOPE,
    ERROR_NAMES,
    FINAL_ROW,
    MANAGER,
    ROW,
    SHAPES,
    is_stamp,
    misfits,
    now,
    one_of,
)

CLOCK_SLACK = timedelta(seconds=120)  # more than that is another time zone, not a slow network
PARITIES = ("even", "odd")


@dataclass
class Match:
    """One of our matches: as announced, and the conversation of the attempt being played."""

    round_id: int
    opponent: str
    role: str
    conversation: str = ""
    referee: str = ""
    choice: str | None = None
    called: bool = False  # a CHOOSE_PARITY_CALL came in the current conversation
    error_since_call: bool = False
    result: str | None = None  # the column of the table that GAME_OVER adds to
    over: bool = False  # GAME_OVER came in the current conversation


@dataclass
class Judge:
    """Checks every call of one league.

    Attributes:
        deviation: called with a sentence and facts for everything that chapter 8 does not allow.
        note: called with what is odd but allowed.
        now: the time.
        always_in_time: False when choices are delayed on purpose, so that ours may count as missing.
    """

    deviation: Callable[..., None]
    note: Callable[..., None]
    now: Callable[[], datetime] = now
    always_in_time: bool = True
    player_id: str = ""
    league_id: str = ""
    matches: dict[str, Match] = field(default_factory=dict)
    announced: dict[int, str] = field(default_factory=dict)
    tables: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    completed: dict[int, Any] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)
    matches_played: int = 0
    finished: bool = False

    def check(self, method: str, params: dict[str, Any]) -> None:
        """Check one call of a known method; one with wrong fields, and a repeated broadcast, is checked no further."""
        message_type, sender, fields = SHAPES[method]
        rules = ENVELOPE | {"message_type": one_of(message_type), "sender": sender} | fields
        wrong_fields = misfits(params, rules)
        for wrong in wrong_fields:
            self.deviation(wrong.pop("deviation"), method=method, **wrong)
        if is_stamp(params.get("timestamp")):
            sent = datetime.fromisoformat(params["timestamp"])
            if abs(sent - self.now()) > CLOCK_SLACK:
                self.deviation("timestamp is not the time", method=method, seen=params["timestamp"])
        if self.finished:
            self.deviation("a call after LEAGUE_COMPLETED", method=method)
        if params.get("league_id", self.league_id) != self.league_id:
            self.deviation("league_id is not the one we registered in", method=method, seen=params["league_id"])
        if wrong_fields:
            return
        if sender is MANAGER:
            key = (message_type, params["conversation_id"])
            if key in self.seen:
                # The league may deliver "at least once"; the chapter shows each broadcast once.
                self.deviation("the same broadcast twice", method=method, conversation_id=key[1])
                return
            self.seen.add(key)
        getattr(self, method)(params)

    # -- one method for each message; the types of fields are checked already -------------------------------

    def notify_round(self, p: dict[str, Any]) -> None:
        number, players, ids = p["round_id"], [], []
        if number in self.announced:
            self.deviation("a round is announced again", round_id=number)
        if self.announced and number != max(self.announced) + 1:
            self.deviation("rounds do not count up", seen=number, expected=max(self.announced) + 1)
        for earlier in sorted(self.announced.keys() - self.completed.keys() - {number}):
            self.deviation("a round is announced before the end of another", round_id=number, open_round=earlier)
        self.announced[number] = p["conversation_id"]
        for index, row in enumerate(p["matches"]):
            wrong = misfits(row, ANNOUNCED, f"matches[{index}].")
            for item in wrong:
                self.deviation(item.pop("deviation"), method="notify_round", **item)
            if wrong:
                continue
            pair = [row["player_A_id"], row["player_B_id"]]
            players += pair
            ids.append(row["match_id"])
            if not row["match_id"].startswith(f"R{number}M"):
                self.deviation("match_id is of another round", seen=row["match_id"], round_id=number)
            if self.player_id in pair:
                role = pair.index(self.player_id)
                self.matches[row["match_id"]] = Match(number, pair[1 - role], ("PLAYER_A", "PLAYER_B")[role])
        if len(set(players)) != len(players) or len(set(ids)) != len(ids):
            self.deviation("a player or a match stands twice in a round", players=players, match_ids=ids)

    def handle_game_invitation(self, p: dict[str, Any]) -> None:
        match = self._match(p, "invitation")
        if match is None:
            return
        if match.round_id in self.completed:
            self.deviation("an invitation after the end of its round", match_id=p["match_id"])
        announced = {"round_id": match.round_id, "opponent_id": match.opponent, "role_in_match": match.role}
        self._same(p, announced, "the announcement")
        if p["conversation_id"] != match.conversation:
            # A new conversation is a new attempt at the match (our ruling 8; the chapter shows only one).
            match.conversation, match.referee = p["conversation_id"], p["sender"]
            match.choice = match.result = None
            match.called = match.over = match.error_since_call = False
        elif match.called or match.over:
            self.deviation("an invitation again, in the middle of its conversation", match_id=p["match_id"])
        elif not match.error_since_call:
            self.deviation("asked again without a GAME_ERROR in between", match_id=p["match_id"])
        match.error_since_call = False

    def choose_parity(self, p: dict[str, Any]) -> None:
        match = self._match(p, "call", in_conversation=True)
        if match is None:
            return
        announced = {"opponent_id": match.opponent, "round_id": match.round_id}
        self._same(p["context"], announced, "the announcement")
        self._same(p, {"player_id": self.player_id}, "our registration")
        deadline = datetime.fromisoformat(p["deadline"])
        if deadline < self.now() or p["deadline"] < p["timestamp"]:
            self.deviation("the deadline is not in the future", seen=p["deadline"], timestamp=p["timestamp"])
        if match.over:
            self.deviation("a choice is asked for after GAME_OVER", match_id=p["match_id"])
        if match.called and not match.error_since_call:
            self.deviation("asked again without a GAME_ERROR in between", match_id=p["match_id"])
        row = self._record()
        if any(p["context"]["your_standings"][name] != row[name] for name in row) and not self._missed_a_result():
            self.deviation("your_standings is not our record", seen=p["context"]["your_standings"], expected=row)
        match.called, match.error_since_call = True, False

    def notify_game_error(self, p: dict[str, Any]) -> None:
        match = self._match(p, "error", in_conversation=True)
        if match is None:
            return
        if p["error_description"] != ERROR_NAMES.get(p["error_code"], p["error_description"]):
            seen = p["error_description"]
            self.deviation("error_description is not the code's name", seen=seen, code=p["error_code"])
        if p["affected_player"] not in (self.player_id, match.opponent):
            self.deviation("affected_player is not in the match", seen=p["affected_player"])
        info = p["retry_info"]
        # The count of 8.10.2 is of the retries made; that of 4.10.2 includes the next one.
        counted = p["retry_count"] + (info["next_retry_at"] is not None)
        if (info["retry_count"], info["max_retries"]) != (counted, p["max_retries"]):
            self.deviation("retry_info contradicts the flat fields", seen=info)
        if p["retry_count"] > p["max_retries"]:
            self.deviation("more retries than there are", seen=p["retry_count"], expected=p["max_retries"])
        match.error_since_call = True

    def notify_match_result(self, p: dict[str, Any]) -> None:
        match = self._match(p, "result", in_conversation=True)
        if match is None:
            return
        if match.over:
            self.deviation("GAME_OVER twice in one conversation", match_id=p["match_id"])
        match.over = True
        result, both = p["game_result"], {self.player_id, match.opponent}
        choices, number, winner = result["choices"], result["drawn_number"], result["winner_player_id"]
        played = result["status"] != "TECHNICAL_LOSS"
        if set(choices) != both:
            self.deviation("choices must have exactly both players", seen=choices, expected=sorted(both))
        allowed = PARITIES if played else (*PARITIES, None)
        if any(choice not in allowed for choice in choices.values()):
            self.deviation("a choice is neither even nor odd", seen=choices)
        ours = choices.get(self.player_id)
        if ours != match.choice and not (ours is None and not played and not self.always_in_time):
            self.deviation("the choice named as ours is not ours", seen=ours, expected=match.choice)
        if number is None:
            right = []
            if played or result["number_parity"] is not None:
                self.deviation("a played match without a number, or a parity of none", seen=result)
        else:
            right = [player for player, choice in choices.items() if choice == PARITIES[number % 2]]
            if result["number_parity"] != PARITIES[number % 2]:
                self.deviation("number_parity is wrong", seen=result["number_parity"], number=number)
        expected = right[0] if len(right) == 1 else None
        if played and (winner, result["status"]) != (expected, "WIN" if expected else "DRAW"):
            self.deviation("the verdict is not what the rules say", seen=result, expected=expected)
        if not played and winner not in (*both, None):
            self.deviation("the winner is not in the match", seen=winner)
        lost = not played and winner is None
        match.result = "wins" if winner == self.player_id else "losses" if winner or lost else "draws"

    def update_standings(self, p: dict[str, Any]) -> None:
        number = p["round_id"]
        if number not in self.announced or number in self.completed:
            self.deviation("standings of a round that is not open", round_id=number)
        rows = self._rows(p["standings"], ROW, "standings")
        if rows is None:
            return
        self.tables[number] = rows
        for row in rows:
            if row["played"] != row["wins"] + row["draws"] + row["losses"]:
                self.deviation("played is not wins + draws + losses", seen=row)
            if row["points"] != 3 * row["wins"] + row["draws"]:
                self.deviation("points are not 3/1/0", seen=row)
        if sum(row["draws"] for row in rows) % 2 or sum(row["wins"] - row["losses"] for row in rows) > 0:
            self.deviation("wins, draws and losses of the table do not pair up", standings=rows)
        ours = [row for row in rows if row["player_id"] == self.player_id]
        record = self._record()
        if not ours:
            self.deviation("we are not in the table", standings=rows)
        elif not self._missed_a_result() and any(ours[0][name] != record[name] for name in record):
            self.deviation("our row is not our record", seen=ours[0], expected=record)

    def notify_round_completed(self, p: dict[str, Any]) -> None:
        number = p["round_id"]
        if number not in self.announced:
            self.deviation("the end of a round that was not announced", round_id=number)
        if number not in self.tables:
            self.deviation("ROUND_COMPLETED before the standings of its round", round_id=number)
        if number in self.completed:
            self.deviation("a round is completed twice", round_id=number)
        if p["next_round_id"] not in (number + 1, None):
            self.deviation("next_round_id is not the next", seen=p["next_round_id"], round_id=number)
        summary = p["summary"]
        if summary["total_matches"] != p["matches_played"] or p["matches_completed"] != p["matches_played"]:
            self.deviation("the counts of matches differ", seen=p)
        if summary["wins"] + summary["draws"] + summary["technical_losses"] != summary["total_matches"]:
            self.deviation("the summary does not add up", seen=summary)
        self.completed[number] = p["next_round_id"]
        self.matches_played += p["matches_played"]
        for match_id, match in self.matches.items():
            if match.round_id == number and match.conversation and not match.over:
                self.deviation("the round ended and no GAME_OVER came", match_id=match_id)
            elif match.round_id == number and not match.conversation:
                self.note("the round ended and we were not invited", match_id=match_id)

    def notify_league_completed(self, p: dict[str, Any]) -> None:
        self.finished = True
        last = max(self.completed, default=0)
        if last != p["total_rounds"] or self.completed.get(last) is not None:
            self.deviation("LEAGUE_COMPLETED before the last round", seen=p["total_rounds"], last_round=last)
        if len(self.completed) == p["total_rounds"] and self.matches_played != p["total_matches"]:
            self.deviation("total_matches is not the sum", seen=p["total_matches"], expected=self.matches_played)
        rows = self._rows(p["final_standings"], FINAL_ROW, "final_standings")
        if not rows:
            self.deviation("final_standings are empty or unusable", method="notify_league_completed")
            return
        names = ("rank", "player_id", "points")
        final = [[row[name] for name in names] for row in rows]
        table = [[row[name] for name in names] for row in self.tables.get(last, [])]
        if table and table != final:
            self.deviation("final_standings are not the last table", seen=final, expected=table)
        if (p["champion"]["player_id"], p["champion"]["points"]) != (rows[0]["player_id"], rows[0]["points"]):
            self.deviation("the champion is not the first of the table", seen=p["champion"], expected=rows[0])

    # -- helpers ------------------------------------------------------------------------------------------

    def _match(self, p: dict[str, Any], what: str, *, in_conversation: bool = False) -> Match | None:
        """The match a referee speaks of; None (and a deviation) when it is not ours or not announced."""
        match = self.matches.get(p["match_id"])
        if match is None:
            self.deviation(f"{what} for a match that was not announced as ours", match_id=p["match_id"])
        elif in_conversation and not match.conversation:
            self.deviation(f"{what} before the invitation", match_id=p["match_id"])
        elif in_conversation:
            invited = {"conversation_id": match.conversation, "sender": match.referee}
            self._same(p, invited, "the invitation")
        return match

    def _same(self, seen: dict[str, Any], earlier: dict[str, Any], by: str) -> None:
        """Report the fields that differ from those of an earlier message, which ``by`` names."""
        for name, expected in earlier.items():
            if seen[name] != expected:
                self.deviation(f"{name} contradicts {by}", seen=seen[name], expected=expected)

    def _record(self) -> dict[str, int]:
        results = [match.result for match in self.matches.values()]
        return {name: results.count(name) for name in ("wins", "losses", "draws")}

    def _missed_a_result(self) -> bool:
        """Whether we did not hear how a match ended, or missed a round: then our own count may be too low."""
        missed = any(m.result is None and m.round_id in self.completed for m in self.matches.values())
        return missed or min(self.announced, default=1) != 1

    def _rows(self, rows: list[Any], rules: Any, name: str) -> list[dict[str, Any]] | None:
        """The rows of a table when all are well formed; also checks ranks and order."""
        wrong = [item for index, row in enumerate(rows) for item in misfits(row, rules, f"{name}[{index}].")]
        for item in wrong:
            self.deviation(item.pop("deviation"), **item)
        if wrong:
            return None
        if [row["rank"] for row in rows] != list(range(1, len(rows) + 1)):
            self.deviation("ranks do not count up from 1", standings=rows)
        if [row["points"] for row in rows] != sorted((row["points"] for row in rows), reverse=True):
            self.deviation("the table is not sorted by points", standings=rows)
        if len({row["player_id"] for row in rows}) != len(rows):
            self.deviation("a player stands twice in the table", standings=rows)
        return rows
