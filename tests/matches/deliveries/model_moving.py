"""The model: players that register at another address (ruling, section 8, "Identity moves")."""

from __future__ import annotations

from tests.matches.deliveries.model_league import ModelState
from tests.matches.deliveries.model_words import (
    MAX_CALL_S,
    MAX_CALLED_S,
    MAX_MOVES_PER_HOUR,
    MIN_CALL_S,
    Agent,
    Move,
    is_in_play,
)


class Moving(ModelState):
    """Moves: they count between matches, once an answer has proved the new address, if nobody else is there."""

    def begin_move(self, player: Agent, machine: str, caller: str) -> None:
        """A player registers at another address; one move that waits is replaced."""
        before = player.move
        since, next_at = (before.since, before.next_at) if before is not None else (self.now, self.now)
        if before is not None and (before.machine != machine or self.now - since >= MAX_CALLED_S):
            since, next_at = self.now, min(next_at, self.now + MIN_CALL_S)
        player.move = Move(machine, self.now if caller == machine else None, since, next_at)
        player.move.taken = self._is_taken(player, player.move)

    def was_called_there(self, player: Agent, machine: str, *, answered: bool) -> None:
        """A call at the new address of a player had an answer, or none; a call at another address is none of this."""
        move = player.move
        if move is not None and move.machine == machine:
            wait_s = min(MAX_CALL_S, max(MIN_CALL_S, self.now - move.since))
            move.proven, move.next_at = answered, self.now + (0 if answered else wait_s)

    def settle_moves(self) -> set[tuple[str | None, str, str]]:
        """Let moves count; returns which players are called at a new address: the league, the id, the machine."""
        due = [one for one in [*self.players, *self.lobby] if one.state != "SHUTDOWN"]
        moves = [(one, one.move) for one in due if one.move is not None and one.move.next_at <= self.now]
        moves.sort(key=lambda pair: pair[1].next_at)
        called = {
            ("fall" if self._is_member(one) else None, one.code, move.machine)
            for one, move in moves
            if not (move.proven or move.taken) and self.now - move.since < MAX_CALLED_S
        }
        for one, move in moves:
            if (move.proven or move.taken) and not self._plays_now(one):
                self._settle(one, move)
        return called

    def _plays_now(self, player: Agent) -> bool:
        return self._is_member(player) and any(
            player.code in match.players and is_in_play(match) for match in self.matches.values()
        )

    def _is_member(self, player: Agent) -> bool:
        return any(one is player for one in self.players)

    def _settle(self, player: Agent, move: Move) -> None:
        if sum(self.now - at <= 3600 for at in player.moved_at) >= MAX_MOVES_PER_HOUR:
            move.next_at = self.now + MAX_CALL_S
        elif self._is_taken(player, move):
            # What answered may have been the program of the player that is there.
            move.next_at, move.taken, move.proven = self.now + MAX_CALL_S, True, False
        elif not move.proven:
            # It is free now, and called again.
            move.next_at = move.since = self.now
            move.taken = False
        else:
            player.machine, player.home_at, player.answered, player.move = move.machine, move.home_at, True, None
            player.tokens = {one: one == move.token and move.home_at is not None for one in player.tokens}
            if self._is_member(player):
                player.moved_at.append(self.now)

    def _is_taken(self, player: Agent, move: Move) -> bool:
        """Whether somebody keeps a player from its new address; name and address are who a player is."""
        peers = self.players if self._is_member(player) else self.lobby
        others = [one for one in peers if one is not player and one.machine == move.machine]
        return any(one.name == player.name or self._keeps_out(one, move) for one in others)

    def _keeps_out(self, one: Agent, move: Move) -> bool:
        is_out = one.state == "SHUTDOWN" or (one.code in self.out and self._is_member(one))
        if is_out or (one.move is not None and one.move.home_at is not None):
            return False
        if move.home_at is not None:
            return one.home_at is not None and one.home_at > move.home_at
        return one.home_at is not None or one.answered or any(one.tokens.values())
