"""Model: asks a language model (004 3.6.3).

The idea: write down the game, the board and the moves that are allowed, ask a language model which one it takes, and
look for one of them in its answer. If there is no answer in time, or none that names a move, a plain strategy decides:
careful in games in turns, random in others. Prompts and the reading of answers are in prompts.py, the request in
chat.py.

What it can gain: in Tic-Tac-Toe and Connect Four as much as the model understands of the game; today that is often less
than a search of thirty lines knows. And it is interesting to read in the player's log why it moves as it does.

What it cannot gain: anything in Even/Odd, "a game of luck" (004 3.6.3): no model knows what a fair draw will bring. It
is slow, it may cost money, and it depends on a server that may be slow, wrong or silent when the deadline comes.

It is set up by the environment: LEAGUE_MODEL_URL, LEAGUE_MODEL_NAME, and if wanted LEAGUE_MODEL_KEY and
LEAGUE_MODEL_BUDGET_S (docs/strategies.md).
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from league_sdk.strategies.careful import Careful
from league_sdk.strategies.chat import Chat, NoAnswer, Settings
from league_sdk.strategies.prompts import choice_in, question
from league_sdk.strategies.time_left import thinking_time, utc_now

logger = logging.getLogger("league_sdk.player")


class LanguageModel(Careful):
    """The move that a language model names in time; else one of :class:`Careful`.

    Args:
        rng: for the plain strategy.
        settings: which model; those of the environment by default.
        now: the time of day, for the deadline.

    Attributes:
        note: writes an event and its details into the player's log, and returns whether there is one; the player sets
            it. Without such a log prompts and answers go to the log of the program.

    Raises:
        NotSetUp: the environment does not say which model to ask.
    """

    quick = False

    def __init__(
        self,
        rng: random.Random | None = None,
        *,
        settings: Settings | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(rng)
        self.settings = settings or Settings.from_environment()
        self.budget_s, self.now = self.settings.budget_s, now
        self.note: Callable[[str, Mapping[str, Any]], bool] = lambda event_type, details: False
        self._chat = Chat(self.settings)
        self._logged: set[str] = set()

    async def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        try:
            return await self._ask(options, {}, context)
        except NoAnswer as problem:
            self._say(problem, context)
            return super().choose(options, context)

    async def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
        try:
            return await self._ask(options, state, context)
        except NoAnswer as problem:
            self._say(problem, context)
            return super().move(options, state, context)

    async def _ask(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
        """The option that the model names.

        Raises:
            NoAnswer: it names none, or not in time.
        """
        limit_s = thinking_time(self.budget_s, context, self.now())
        if limit_s <= 0:
            raise NoAnswer("the deadline of the move is too near to ask it")
        prompt = question(options, state, context)
        about = {"model": self.settings.name, "match_id": context.get("match_id")}
        if not self.note("MODEL_ASKED", about | {"prompt": prompt}):
            logger.info("%s is asked:\n%s", self.settings.name, prompt)
        answer = await self._chat.ask(prompt, limit_s)
        shown = self._chat.showable(answer)
        if not self.note("MODEL_ANSWERED", about | {"answer": shown}):
            logger.info("%s answers: %s", self.settings.name, shown)
        chosen = choice_in(answer, options)
        if not chosen:
            raise NoAnswer("its answer names no move that is allowed")
        return chosen[0]

    def _say(self, problem: NoAnswer, context: dict[str, Any]) -> None:
        """Say why the model did not decide: in the terminal each cause once, or it would be full of them."""
        about = {"model": self.settings.name, "match_id": context.get("match_id")}
        self.note("MODEL_NOT_USED", about | {"problem": str(problem), "detail": problem.detail})
        if str(problem) not in self._logged:
            self._logged.add(str(problem))
            detail = f": {problem.detail}" if problem.detail else ""
            line = "%s: %s%s; a plain strategy decides (reported only once)"
            logger.warning(line, self.settings.name, problem, detail)
