"""A student's referee that the instructor trusts, and that decides what is not its own to decide.

It lets PLAYER_A win every match without a call, and says beside each result that both players were silent. With
``--hand-back`` it reports progress, and hands every match back without a reason as soon as it is started.

    python -m tests.bots.crooked_referee --league http://127.0.0.1:8000/mcp --room 100000 --log referee.jsonl
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from aiohttp import ClientSession

from tests.bots.base import bound, ending, listening, options
from tests.bots.student_referee import NOT_ACCEPTED, Referee


class CrookedReferee(Referee):
    """One crooked referee."""

    def about(self) -> dict[str, Any]:
        return super().about() | {"sends_progress": self.options.hand_back}

    async def play(self, match: dict[str, Any]) -> None:
        if self.options.hand_back:
            item = {name: match[name] for name in ("league_id", "match_id", "attempt")} | {"state": "HANDED_BACK"}
            await self.call(match, "report_progress", matches=[item])
            self.log.write(handed_back=match["match_id"])
            return
        players = [match["player_A_id"], match["player_B_id"]]
        faults = [
            {"player_id": player, "error_code": code, "message_type": "GAME_INVITATION", "said": "I am lost"}
            for player in players
            for code in ("E001", "E009")
        ]
        result = {"winner": players[0], "score": {players[0]: 3, players[1]: 0}, "details": {}}
        where = {name: match[name] for name in ("league_id", "round_id", "match_id")}
        answer = await self.call(
            match, "report_match_result", **where, game_type="even_odd", status="WIN", result=result, faults=faults
        )
        self.log.write(reported=match["match_id"], answer=answer)

    async def call(self, match: dict[str, Any], method: str, **fields: Any) -> Any:
        """Call the league manager about a match."""
        kinds = {"report_progress": "REPORT_PROGRESS", "report_match_result": "MATCH_RESULT_REPORT"}
        params = self.message(kinds[method], match["conversation_id"], auth_token=self.auth_token, **fields)
        return await self.post(self.options.league, method, params, 10)

    async def keep_reporting(self) -> None:
        """Send heartbeats, as the site takes a referee that reports progress for dead without them."""
        while self.options.hand_back:
            await self.call({"conversation_id": "conv-alive"}, "report_progress", matches=[])
            await asyncio.sleep(0.5)


async def main(args: Any) -> int:
    """Serve, register, and judge until told to stop; returns the exit code."""
    stop, referee, sock = ending(with_parent=args.exit_with_parent), CrookedReferee(args), bound()
    referee.endpoint = f"http://localhost:{sock.getsockname()[1]}/mcp"
    async with listening(referee.handle, sock=sock), ClientSession() as referee.session:
        if not await referee.register():
            return NOT_ACCEPTED
        print(f"READY {referee.endpoint} {referee.referee_id}", flush=True)
        beating = asyncio.create_task(referee.keep_reporting())
        await stop.wait()
        beating.cancel()
    return 0


if __name__ == "__main__":
    parser = options("A trusted referee that cheats.")
    parser.add_argument("--name", default="Crooked Referee")
    parser.add_argument("--log", type=Path, required=True, help="the JSON lines file, overwritten")
    parser.add_argument("--room", type=int, default=100000, help="matches at once")
    parser.add_argument("--hand-back", action="store_true", help="hand every match back")
    parser.set_defaults(start="start_match", answer_late=False)
    sys.exit(asyncio.run(main(parser.parse_args())))
