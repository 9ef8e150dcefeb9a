"""The verdict on a run: the promises that it broke, by the rows of the database and the players' own records.

Pure. The table is computed here once more from the results, without code of the project.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.chaos.players import Player
from tests.chaos.rows import MatchRow, Snapshot

WIN, DRAW = 3, 1
_BROADCASTS = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED")
Table = list[tuple[str, int, int, int, int]]


def violations(
    snapshot: Snapshot,
    players: Sequence[Player],
    tables: Mapping[str, list[dict[str, Any]]],
    accepted: Sequence[Mapping[str, Any]],
) -> list[str]:
    """A sentence for every promise that was broken.

    Args:
        players: those of all leagues that were played, with the messages they received.
        tables: by league, the table as the site shows it.
        accepted: the reports of results that were answered as accepted.
    """
    by_league: dict[str, list[Player]] = defaultdict(list)
    for player in players:
        by_league[player.league_id].append(player)
    broken = _agents(snapshot, players) + _accepted(snapshot, accepted)
    for league_id, theirs in by_league.items():
        matches = [match for match in snapshot.matches if match.league_id == league_id]
        if (state := snapshot.leagues.get(league_id)) != "COMPLETED":
            still = {match.match_id: match.state for match in matches if match.state not in ("FINISHED", "PENDING")}
            broken.append(f"{league_id} is {state}: {still}")
            continue
        broken += _league(snapshot, league_id, matches, len(theirs))
        table = computed_table(matches, [player.player_id for player in theirs])
        if league_id in tables and _table_in(tables[league_id]) != table:
            broken.append(
                f"{league_id}: the site's table {_table_in(tables[league_id])} is not the computed one, {table}"
            )
        broken += [f"{league_id} {one}" for one in _contradictory_ends(theirs)]
        for player in theirs:
            failed = snapshot.failed.get((league_id, player.player_id), [])
            broken += [f"{league_id} {player.name}: {one}" for one in _player(player, matches, table, failed)]
    return broken


def computed_table(matches: Iterable[MatchRow], players: Iterable[str]) -> Table:
    """The table: (player, points, wins, draws, played), best first."""
    wins: Counter[str] = Counter()
    draws: Counter[str] = Counter()
    played: Counter[str] = Counter()
    for match in matches:
        both = (match.player_a, match.player_b)
        played.update(both)
        if match.winner is not None:
            wins[match.winner] += 1
        elif match.status == "DRAW":
            draws.update(both)
    rows = [(one, WIN * wins[one] + DRAW * draws[one], wins[one], draws[one], played[one]) for one in players]
    return sorted(rows, key=lambda row: (-row[1], -row[2], -row[3], row[0]))


def _table_in(rows: Iterable[Mapping[str, Any]]) -> Table:
    return [(row["player_id"], row["points"], row["wins"], row["draws"], row["played"]) for row in rows]


# Rows -----------------------------------------------------------------------------------------


def _league(snapshot: Snapshot, league_id: str, matches: Sequence[MatchRow], players: int) -> list[str]:
    broken = []
    if len(matches) != players * (players - 1) // 2 or len({match.match_id for match in matches}) != len(matches):
        broken.append(f"{league_id} has {len(matches)} matches for {players} players")
    broken += [
        f"{league_id}: round {number} is {state}"
        for league, number, state in snapshot.rounds
        if league == league_id and state != "COMPLETED"
    ]
    if snapshot.waiting.get(league_id):
        broken.append(f"{league_id}: {snapshot.waiting[league_id]} messages wait to be delivered")
    events = [event for event in snapshot.events if event[0] == league_id]
    if [event[1] for event in events] != list(range(1, len(events) + 1)):
        broken.append(f"{league_id}: its events are not numbered one by one")
    counted: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for _, _, kind, data, _ in events:
        if kind == "match_finished":
            counted[data["match_id"]].append(data)
    kinds = Counter(kind for _, _, kind, _, _ in events)
    if kinds["league_completed"] != 1:
        broken.append(f"{league_id} was completed {kinds['league_completed']} times")
    for match in matches:
        broken += [f"{league_id} {match.match_id}: {one}" for one in _match(match, counted[match.match_id])]
    return broken


def _match(match: MatchRow, counted: Sequence[Mapping[str, Any]]) -> list[str]:
    broken = []
    if match.state != "FINISHED":
        broken.append(f"is {match.state} after attempt {match.attempt}, {match.lost_attempts} lost")
    if len(counted) != 1:
        broken.append(f"{len(counted)} results were counted")
    elif (counted[0]["status"], counted[0]["winner_id"]) != (match.status, match.winner):
        broken.append(f"counted as {counted[0]['status']} {counted[0]['winner_id']}, is {match.status} {match.winner}")
    if match.status not in ("WIN", "DRAW") or match.faults:
        broken.append(f"a player was charged: {match.status}, {match.faults}")
    return broken


def _agents(snapshot: Snapshot, players: Sequence[Player]) -> list[str]:
    broken = []
    rows: dict[tuple[str | None, str], list[Any]] = defaultdict(list)
    for agent in snapshot.agents:
        if agent.kind == "player":
            rows[agent.league_id, agent.name].append(agent)
    digests = set(snapshot.tokens)
    for player in players:
        mine = rows[player.league_id, player.name]
        who = f"{player.league_id} {player.name}"
        if len(mine) != 1:
            broken.append(f"{who} is registered {len(mine)} times")
            continue
        if mine[0].code != player.player_id:
            broken.append(f"{who} was told that it is {player.player_id}, and is {mine[0].code}")
        if mine[0].silences or mine[0].state == "SUSPENDED":
            broken.append(f"{who} was charged: {mine[0].state}, {mine[0].silences} silences, {mine[0].problem!r}")
        lost = [
            token for token in player.tokens if (mine[0].pk, hashlib.sha256(token.encode()).hexdigest()) not in digests
        ]
        if lost:
            broken.append(f"{who}: {len(lost)} of {len(player.tokens)} accepted registrations are not on record")
        broken += [f"{who}: {one}" for one in player.odd]
    return broken


def _accepted(snapshot: Snapshot, accepted: Sequence[Mapping[str, Any]]) -> list[str]:
    """The accepted reports of results that are not the results that count."""
    rows = {(match.league_id, match.match_id): match for match in snapshot.matches}
    broken = []
    for report in accepted:
        match = rows.get((report["league_id"], report["match_id"]))
        accepted_result = (report["attempt"], report["status"], report["winner"])
        seen = (match.attempt, match.status, match.winner) if match else None
        # The report may be of the attempt that sealed the verdict, or of a later one that told it.
        sealed = ((match.seal or {}).get("attempt"), match.status, match.winner) if match else None
        if accepted_result not in (seen, sealed):
            broken.append(
                f"{report['league_id']} {report['match_id']}: {accepted_result} was accepted, {seen} is on record"
            )
    return broken


# The messages that players received ---------------------------------------------------------


def _player(player: Player, matches: Sequence[MatchRow], table: Table, failed: Sequence[str]) -> list[str]:
    """Messages to one player that break a promise.

    Args:
        failed: the deliveries to it that failed by the site's record, named in the violation.
    """
    broken = []
    game_overs = player.game_overs()
    for match in matches:
        if player.player_id in (match.player_a, match.player_b):
            broken += _ends(match, game_overs.get(match.match_id, []))
    for match_id in game_overs.keys() - {match.match_id for match in matches}:
        broken.append(f"was told the end of {match_id}, which there is not")
    broken += _conversations(player)
    tables = [one for one in player.received if one.get("message_type") == "LEAGUE_STANDINGS_UPDATE"]
    if tables and _table_in(tables[-1]["standings"]) != table:
        last_table = f"the last table it was told ({player.way}) is {_table_in(tables[-1]['standings'])}, not {table}"
        broken.append(f"{last_table}; deliveries that failed: {list(failed)}")
    ends = [one for one in player.received if one.get("message_type") == "LEAGUE_COMPLETED"]
    final = [(row["player_id"], row["points"]) for row in ends[-1]["final_standings"]] if ends else None
    if final is not None and final != [row[:2] for row in table]:
        broken.append(f"the final table it was told is {final}, not {table}")
    return broken


def _contradictory_ends(players: Iterable[Player]) -> list[str]:
    """The matches whose GAME_OVER messages, to one player or to both, name two different ends (ruling, section 12)."""
    ends_of: dict[str, set[str]] = defaultdict(set)
    for player in players:
        for match_id, ends in player.game_overs().items():
            for end in ends:
                result = end["game_result"]
                if result["status"] != "CANCELLED":
                    names = ("status", "winner_player_id", "drawn_number", "choices")
                    ends_of[match_id].add(json.dumps([result.get(name) for name in names], sort_keys=True))
    return [f"{match_id}: two ends were told: {sorted(ends)}" for match_id, ends in ends_of.items() if len(ends) > 1]


def _ends(match: MatchRow, game_overs: Sequence[Mapping[str, Any]]) -> list[str]:
    seal = match.seal or {}
    if not game_overs:
        # A verdict that no referee could tell counts untold.
        return [] if seal.get("untold") is True else [f"{match.match_id}: it was never told how it ended"]
    last = game_overs[-1]
    result = last["game_result"]
    seen = (last.get("attempt"), last["conversation_id"], result["status"], result["winner_player_id"])
    counts = (match.attempt, match.conversation_id, match.status, match.winner)
    if seal:
        # A sealed verdict is told with its first attempt and conversation, even by a referee of a later attempt.
        counts = (seal.get("attempt"), seal.get("conversation_id"), match.status, match.winner)
    if seen != counts:
        before = [(one.get("attempt"), one["game_result"]["winner_player_id"]) for one in game_overs[:-1]]
        return [f"{match.match_id}: the last GAME_OVER told {seen}, {counts} counts; earlier ones: {before}"]
    wrong = [name for name, value in match.details.items() if name in result and result[name] != value]
    return [f"{match.match_id}: GAME_OVER and the record differ in {', '.join(wrong)}"] if wrong else []


def _conversations(player: Player) -> list[str]:
    """The messages that a player received twice, with different contents or conversation_ids."""
    broken = []
    texts: dict[str, str] = {}
    conversations: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for message in player.received:
        kind, conversation = message["message_type"], message["conversation_id"]
        if kind in _BROADCASTS:
            conversations[kind, message.get("round_id")].add(conversation)
            # Timestamp and token may differ when a later look sends it again.
            contents = {name: value for name, value in message.items() if name not in ("timestamp", "auth_token")}
        elif kind == "GAME_OVER":
            conversations[kind, message["match_id"], message["attempt"]].add(conversation)
            contents = message["game_result"]
        else:
            continue
        text = json.dumps([kind, contents], sort_keys=True)
        if texts.setdefault(f"{kind} {conversation}", text) != text:
            broken.append(f"{kind} of {conversation} came twice and differs")
    broken += [f"{what} came as {sorted(them)}" for what, them in conversations.items() if len(them) > 1]
    return broken
