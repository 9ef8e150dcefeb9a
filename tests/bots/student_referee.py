"""A referee as a student might write it: from 004 chapters 4 and 8, with a guess at how a match is started.

It shares code with other bots, and uses nothing of this project but the helper that stops a server. It plays even/odd
without retries, calls players by chapter 8, and reports ``winner: "DRAW"`` for a draw. Its reports name no attempt, and
it never reports progress.

    python -m tests.bots.student_referee --league http://127.0.0.1:8000/mcp --start assign_match --log referee.jsonl

Prints ``READY <endpoint> <referee_id>`` once registered; one JSON line per call received and per report goes to
the log. Exit code 3: the registration was not accepted.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, web

from tests.bots import words
from tests.bots.base import Log, bound, ending, listening, options
from tests.bots.words import rpc, stamp

STARTS = ("start_match", "assign_match", "START_MATCH", "run_match")
"""The methods by which a league might start a match; a referee knows one of them."""
ANNOUNCEMENT = "announcement"
"""In place of such a method: the referee starts its matches when their round is announced."""
NOT_ACCEPTED = 3
PARITIES = ("even", "odd")


class Referee:
    """One student's referee: its server, its registration, its matches."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.log = Log(options.log)
        self.endpoint = self.referee_id = self.auth_token = self.league_id = ""
        self.session: ClientSession
        self.playing: set[asyncio.Task[None]] = set()
        self.records: dict[tuple[str, str], dict[str, int]] = {}
        self.ids = 0

    async def post(self, url: str, method: str, params: dict[str, Any], limit_s: float) -> Any:
        """Make one call; returns its result, or None when there was none in time."""
        self.ids += 1
        body = rpc(method, params, self.ids)
        try:
            async with self.session.post(url, json=body, timeout=ClientTimeout(total=limit_s)) as response:
                return (await response.json()).get("result")
        except (ClientError, TimeoutError, ValueError):
            return None

    def message(self, kind: str, conversation: str, **fields: Any) -> dict[str, Any]:
        return words.message(kind, f"referee:{self.referee_id}", conversation, **fields)

    # -- registration (004 8.3) ---------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        """What it says of itself when it registers."""
        return words.meta(self.options.name, self.endpoint, max_concurrent_matches=self.options.room)

    async def register(self) -> bool:
        o = self.options
        params = words.registration("referee", o.name, "conv-referee-reg-001", self.about())
        result = await self.post(o.league, "register_referee", params, 10)
        self.log.write(registered=result)
        if not isinstance(result, dict) or result.get("status") != "ACCEPTED":
            return False
        self.referee_id, self.auth_token = result["referee_id"], result["auth_token"]
        return True

    # -- calls of the league manager --------------------------------------------------------------------

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        method, params = body.get("method"), body.get("params") or {}
        self.log.write(method=method, params=params)
        if method == "notify_round":
            if self.options.start == ANNOUNCEMENT:
                self.begin_announced(params)
            return self.answer(body, result={"status": "received"})
        if method == self.options.start:
            match = self.play(params)
            if self.options.answer_late:
                await match
            else:
                self.spawn(match)
            return self.answer(body, result={"status": "STARTED", "match_id": params["match_id"]})
        if method in ("ping", "notify_league_completed"):
            return self.answer(body, result={"status": "ok"})
        return self.answer(body, error={"code": -32601, "message": "Method not found"})

    def answer(self, body: dict[str, Any], **outcome: Any) -> web.Response:
        return web.json_response({"jsonrpc": "2.0", **outcome, "id": body.get("id")})

    def begin_announced(self, params: dict[str, Any]) -> None:
        """Start every match of a ROUND_ANNOUNCEMENT that names our address."""
        for match in params["matches"]:
            if match["referee_endpoint"] == self.endpoint:
                conversation = f"conv-{match['match_id'].lower()}-of-{self.referee_id.lower()}"
                of_round = {"league_id": params["league_id"], "round_id": params["round_id"]}
                self.spawn(self.play(of_round | match | {"conversation_id": conversation}))

    def spawn(self, match: Any) -> None:
        task = asyncio.create_task(match)
        self.playing.add(task)
        task.add_done_callback(self.playing.discard)

    # -- one match (004 3.2, 8.7) -------------------------------------------------------------------------

    async def play(self, match: dict[str, Any]) -> None:
        players = {match[f"player_{side}_id"]: match[f"player_{side}_endpoint"] for side in "AB"}
        a, b = players
        conversation = match["conversation_id"]
        common = {"auth_token": self.auth_token, "match_id": match["match_id"], "game_type": "even_odd"}

        def invitation(role: str, opponent: str) -> dict[str, Any]:
            where = {name: match[name] for name in ("league_id", "round_id")}
            fields = common | where | {"role_in_match": role, "opponent_id": opponent}
            return self.message("GAME_INVITATION", conversation, **fields)

        def call(player: str, opponent: str) -> dict[str, Any]:
            context = {
                "opponent_id": opponent,
                "round_id": match["round_id"],
                "your_standings": self.record(match, player),
            }
            fields = common | {"player_id": player, "deadline": stamp(30), "context": context}
            return self.message("CHOOSE_PARITY_CALL", conversation, **fields)

        joined = await asyncio.gather(
            self.post(players[a], "handle_game_invitation", invitation("PLAYER_A", b), 5),
            self.post(players[b], "handle_game_invitation", invitation("PLAYER_B", a), 5),
        )
        choices: dict[str, str | None] = {a: None, b: None}
        if all(isinstance(answer, dict) and answer.get("accept") is True for answer in joined):
            chosen = await asyncio.gather(
                self.post(players[a], "choose_parity", call(a, b), 30),
                self.post(players[b], "choose_parity", call(b, a), 30),
            )
            for player, answer in zip((a, b), chosen, strict=True):
                choices[player] = answer.get("parity_choice") if isinstance(answer, dict) else None
        result = self.decide(choices)
        over = self.message("GAME_OVER", conversation, **common, game_result=result)
        await asyncio.gather(*(self.post(url, "notify_match_result", over, 5) for url in players.values()))
        await self.report(match, result)

    def record(self, match: dict[str, Any], player: str) -> dict[str, int]:
        return self.records.setdefault((match["league_id"], player), {"wins": 0, "losses": 0, "draws": 0})

    def decide(self, choices: dict[str, str | None]) -> dict[str, Any]:
        missing = [player for player, choice in choices.items() if choice not in PARITIES]
        if missing:
            present = [player for player in choices if player not in missing]
            return {
                "status": "TECHNICAL_LOSS",
                "winner_player_id": present[0] if present else None,
                "drawn_number": None,
                "number_parity": None,
                "choices": choices,
                "reason": f"no choice of {', '.join(missing)}",
            }
        number = random.randint(1, 10)
        parity = PARITIES[number % 2]
        right = [player for player, choice in choices.items() if choice == parity]
        return {
            "status": "WIN" if len(right) == 1 else "DRAW",
            "winner_player_id": right[0] if len(right) == 1 else None,
            "drawn_number": number,
            "number_parity": parity,
            "choices": choices,
            "reason": f"the number was {number}",
        }

    async def report(self, match: dict[str, Any], result: dict[str, Any]) -> None:
        """MATCH_RESULT_REPORT (004 4.6.2)."""
        winner, draw = result["winner_player_id"], result["status"] == "DRAW"
        for player in result["choices"]:
            kind = "draws" if draw else "wins" if player == winner else "losses"
            self.record(match, player)[kind] += 1
        score = {player: 1 if draw else 3 * (player == winner) for player in result["choices"]}
        params = self.message(
            "MATCH_RESULT_REPORT",
            match["conversation_id"],
            auth_token=self.auth_token,
            league_id=match["league_id"],
            round_id=match["round_id"],
            match_id=match["match_id"],
            game_type="even_odd",
            result={
                "winner": "DRAW" if draw else winner,
                "score": score,
                "details": {"drawn_number": result["drawn_number"], "choices": result["choices"]},
            },
        )
        answer = await self.post(self.options.league, "report_match_result", params, 10)
        self.log.write(reported=match["match_id"], answer=answer)


async def main(args: argparse.Namespace) -> int:
    """Serve, register, and judge until told to stop; returns the exit code."""
    stop, referee, sock = ending(with_parent=args.exit_with_parent), Referee(args), bound(port=args.port)
    referee.endpoint = f"http://localhost:{sock.getsockname()[1]}/mcp"
    async with listening(referee.handle, sock=sock), ClientSession() as referee.session:
        if not await referee.register():
            return NOT_ACCEPTED
        print(f"READY {referee.endpoint} {referee.referee_id}", flush=True)
        await stop.wait()
    return 0


if __name__ == "__main__":
    parser = options("A referee that knows the course's text and nothing else.")
    parser.add_argument("--name", default="Student Referee")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--log", type=Path, required=True, help="the JSON lines file, overwritten")
    parser.add_argument("--start", choices=[*STARTS, ANNOUNCEMENT], default=STARTS[0])
    parser.add_argument("--room", type=int, default=4, help="matches at once")
    parser.add_argument("--answer-late", action="store_true", help="answer the start when the match is over")
    sys.exit(asyncio.run(main(parser.parse_args())))
