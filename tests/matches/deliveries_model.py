"""A league as it should be after any deliveries in any order: who is who, which attempt is on, which result counts.

Small and pure: it knows the ruling (sections 5, 7, 8, 10), none of the league's code. Time is in whole seconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

LEASE_S, SILENT_S, MOST_LOST, MOST_PLAYERS, MOST_TOKENS, MOST_RELAYED, WAIT_S = 8, 16, 3, 5, 16, 4, 2
SUSPEND_AFTER, SHUTDOWN_AFTER = 1, 2
CALM_S, TOGETHER_S, LATELY_S, LONGEST_HOLD_S = 3, 2, 15, 600
PENDING, READY, PLAYING, HELD, FINISHED = "PENDING", "READY", "PLAYING", "HELD", "FINISHED"
_STEPS = ("ASSIGNED", "WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER")
OPEN = (READY, PLAYING, HELD)
Changes = dict[str, tuple[str, tuple[str, str | None] | None]]
"""By match the phase and the result that it is given."""


@dataclass
class Who:
    """An agent: ``at`` is its machine, ``tokens`` are those that are valid with whether it had shown to be itself.

    Of a referee it matters whether it is ``suspended``, of a player in which ``state`` it is.
    """

    number: int
    prefix: str
    name: str
    shown: str
    at: str
    tokens: dict[str, bool] = field(default_factory=dict)
    trusted: bool = False
    site_key: bool = False
    progress: bool = True
    suspended: bool = False
    heard: int = 0
    state: str = "REGISTERED"
    silences: int = 0

    @property
    def code(self) -> str:
        return f"{self.prefix}{self.number:02d}"


@dataclass
class Game:
    """One match."""

    players: tuple[str, str]
    round: int
    phase: str = PENDING
    attempt: int = 0
    lost: int = 0
    referee: str | None = None
    lease: int | None = None
    held: int = 0
    step: int = 0
    result: tuple[str, str | None] | None = None


@dataclass
class Correction:
    """What was so before a correction: of each match its phase and result, of a player whether it was called."""

    number: int
    before: dict[str, tuple[str, tuple[str, str | None] | None]]
    player: str | None = None
    points: int = 0
    puts_out: bool = False
    was_called: bool = True
    undone: bool = False

    @property
    def touches(self) -> set[str | None]:
        return {*self.before, self.player} - {None}


@dataclass
class Parcel:
    """One message to one agent in the outbox."""

    kind: str
    round: int | None
    to: str
    relayed_for: str | None
    state: str = "PENDING"


class World:
    """The league, its agents, and what is on its way to them."""

    def __init__(self, now: int, longest_match_s: int) -> None:
        self.now, self.longest_match_s = now, longest_match_s
        self.state, self.paused = "NOT THERE", False
        self.players: list[Who] = []
        self.lobby: list[Who] = []
        self.referees: list[Who] = []
        self.rounds: list[str] = []
        self.begun: dict[int, int] = {}
        self.games: dict[str, Game] = {}
        self.out: set[str] = set()
        self.points: dict[str, int] = {}
        self.outbox: dict[int, Parcel] = {}
        self.losses: list[tuple[int, Game]] = []
        self.corrections: list[Correction] = []
        self.counted = 0

    # Who is who --------------------------------------------------------------------------------------

    def owner(self, token: str | None) -> Who | None:
        return next((one for one in [*self.players, *self.lobby, *self.referees] if token in one.tokens), None)

    def referee(self, code: str | None) -> Who | None:
        return next((one for one in self.referees if one.code == code), None)

    def open_league(self) -> None:
        """Whoever waited in the lobby comes in, with its id."""
        self.state, self.players, self.lobby = "REGISTRATION", self.lobby, []

    def register_player(
        self, name: str, at: str, caller: str, token: str | None, wanted: int | None, league: str | None
    ) -> str:
        known = next((one for one in self.players if (one.name, one.at) == (name, at)), None)
        waiting = next((one for one in self.lobby if (one.name, one.at) == (name, at)), None)
        if league is not None and (league != "fall" or self.state == "NOT THERE"):
            return "E014"
        going = known is not None and waiting is None and self.state == "RUNNING"
        if league is None and self.state != "REGISTRATION" and not going:
            return self._let_in(self.lobby, waiting, name, at, caller, token, wanted)
        if known is not None and known.code in self.out:
            return "REJECTED L001"
        if known is None or (self.state in ("COMPLETED", "STOPPED") and not self._still_plays(known)):
            if self.state != "REGISTRATION":
                return "REJECTED L001"
            if len(self.players) >= MOST_PLAYERS:
                return "REJECTED L002"
        return self._let_in(self.players, known, name, at, caller, token, wanted)

    def _let_in(
        self,
        place: list[Who],
        known: Who | None,
        name: str,
        at: str,
        caller: str,
        token: str | None,
        wanted: int | None,
    ) -> str:
        """Into the league or the lobby, if whoever is known there has shown to be itself."""
        if known is not None and token not in known.tokens and caller != at:
            return "REJECTED L003"
        if known is None:
            same = sum(one.name == name for one in place)
            shown = f"{name} ({same + 1})" if same else name
            self.entering = Who(_free(place, wanted), "P", name, shown, at)
            place.append(self.entering)
            self._take_in(self.entering, token, proven=caller == at, again=False)
        else:
            self.entering = known
            _call_again(known)
            self._take_in(known, token, proven=caller == at, again=True)
        return "ACCEPTED"

    def _still_plays(self, player: Who) -> bool:
        theirs = [game for game in self.games.values() if player.code in game.players]
        return self.state == "COMPLETED" and any(game.phase != FINISHED for game in theirs)

    def register_referee(self, name: str, at: str, caller: str, token: str | None, key: bool, progress: bool) -> str:
        """Its port goes with its name here."""
        known = next((one for one in self.referees if one.name == name), None)
        again = known is not None
        if known is None:
            known = Who(_free(self.referees, None), "REF", name, name, at)
            self.referees.append(known)
        elif not key and token not in known.tokens and (known.site_key or caller != known.at):
            return "REJECTED L003"
        elif not key and known.at != at and token not in known.tokens:
            known.trusted = False
        known.trusted, known.site_key = known.trusted or key, known.site_key or key
        known.at, known.progress, known.suspended, known.heard = at, progress, False, self.now
        self.entering = known
        self._take_in(known, token, proven=key or (not known.site_key and caller == at), again=again)
        if again:
            for game in self.games.values():
                if game.referee == known.code:
                    self.lose(game)
        return "ACCEPTED"

    def _take_in(self, who: Who, token: str | None, *, proven: bool, again: bool) -> None:
        if again and proven:
            who.tokens = {one: shown for one, shown in who.tokens.items() if shown}
        self.proven = proven or who.tokens.get(token or "", False)

    def give(self, token: str) -> None:
        """The token that the one who was just accepted was given."""
        self.entering.tokens[token] = self.proven
        self.entering.tokens = dict(list(self.entering.tokens.items())[-MOST_TOKENS:])

    # Referees ----------------------------------------------------------------------------------------

    def _enter(self, token: str | None, sender: str | None, league: str | None) -> Who | str:
        """The rungs before the message itself is read."""
        if league not in (None, "fall"):
            return "E014"
        if token is None:
            return "E011"
        who = self.owner(token)
        if who is None:
            return "E012"
        return who if sender is None or sender == who.code else "E012"

    def hear(self, referee: Who) -> None:
        referee.heard, referee.suspended = self.now, False

    def report(
        self, token: str | None, sender: str, league: str, match_id: str, attempt: int | None, outcome: str
    ) -> str:
        who = self._enter(token, None, league)
        if isinstance(who, str):
            return who
        if who.prefix == "P":
            return "E013"
        if sender != who.code:
            return "E012"
        game = self.games.get(match_id)
        if game is None:
            return "E002"
        claimed = game.attempt if attempt is None else attempt
        if game.referee != who.code:
            return "IGNORED" if 0 < claimed < game.attempt else "E013"
        if outcome == "stranger":
            return "E002"
        self.hear(who)
        if game.phase == READY and game.attempt == 0 and who.trusted and not who.progress:
            # It began with the announcement.
            self.assign(game, who)
            claimed = game.attempt if attempt is None else attempt
        if game.phase == FINISHED:
            return "DUPLICATE"
        if game.phase != PLAYING or claimed != game.attempt:
            return "IGNORED"
        a, b = game.players
        silent = {"A, B silent": [b], "both silent": [a, b]}.get(outcome, [])
        for player in self.players:
            if player.code in game.players:
                self._count_silence(player, silent=player.code in silent)
        self.finish(
            game,
            {
                "A": ("WIN", a),
                "B": ("WIN", b),
                "draw": ("DRAW", None),
                "cancelled": ("CANCELLED", None),
                "both silent": ("TECHNICAL_LOSS", None),
            }.get(outcome, ("TECHNICAL_LOSS", a)),
        )
        return "ACCEPTED"

    def _count_silence(self, player: Who, *, silent: bool) -> None:
        if not silent:
            player.silences, player.state = 0, "ACTIVE" if player.state == "SUSPENDED" else player.state
            return
        player.silences += 1
        if player.silences >= SUSPEND_AFTER and player.state in ("ACTIVE", "REGISTERED"):
            player.state = "SUSPENDED"
        if player.silences >= SHUTDOWN_AFTER and player.state == "SUSPENDED":
            player.state = "SHUTDOWN"

    def _call_again(self, codes: Iterable[str]) -> None:
        """Players are called again, and the league is under way for them."""
        for player in self.players:
            if player.code in codes:
                _call_again(player)
                player.state = "ACTIVE" if player.state == "REGISTERED" else player.state

    def _retire(self, codes: Iterable[str]) -> None:
        for player in self.players:
            player.state = "SHUTDOWN" if player.code in codes else player.state

    def _retire_the_done(self) -> None:
        """The league is over: whoever has no match left may go."""
        if self.state == "COMPLETED":
            left = {code for game in self.games.values() if game.phase != FINISHED for code in game.players}
            self._retire({one.code for one in self.players} - left)

    def _absent(self) -> set[str]:
        """Whoever is not called: out of the league, or shut down."""
        return self.out | {one.code for one in self.players if one.state == "SHUTDOWN"}

    def progress(
        self, token: str | None, sender: str, items: list[tuple[str, int, str, str]], leaving: bool
    ) -> str | tuple[str, ...]:
        who = self._enter(token, sender, None)
        if isinstance(who, str):
            return who
        if who.prefix == "P":
            return "E013"
        if leaving:
            who.suspended = True
        else:
            self.hear(who)
        mine = {key: game.attempt for key, game in self.games.items() if game.referee == who.code and _on(game)}
        said = []
        for match_id, attempt, state, why in items:
            alive = mine.get(match_id) == attempt
            said.append("ok" if alive else "lost")
            game = self.games.get(match_id)
            if not alive or game is None or not _on(game):
                continue
            if state == "HANDED_BACK":
                self.lose(game, counts=bool(why))
            else:
                self._renew(game, who, _STEPS.index(state))
        return tuple(said)

    def _renew(self, game: Game, referee: Who, step: int) -> None:
        """News renew a lease; without any it is renewed when a tenth of it is gone."""
        whole = self.lease_of(referee)
        if step > game.step or game.lease is None or game.lease - self.now < 0.9 * whole:
            game.lease = self.now + whole
        game.step = max(game.step, step)

    def answer(self, token: str | None, match_id: str | None) -> str:
        """A player's answer that came to the league manager instead of its referee."""
        who = self._enter(token, None, None)
        if isinstance(who, str):
            return who
        if who.prefix != "P":
            return "E002"
        theirs = [key for key, game in self.games.items() if who.code in game.players and _on(game)]
        if not theirs or match_id not in (None, *theirs):
            return "E001"
        relayed = {pk: one for pk, one in self.outbox.items() if one.relayed_for == who.code}
        if sum(one.state == "PENDING" for one in relayed.values()) >= MOST_RELAYED:
            return "E002"
        for pk, one in relayed.items():
            if one.state != "PENDING":
                del self.outbox[pk]
        return "RECEIVED"

    def lease_of(self, referee: Who) -> int:
        return LEASE_S if referee.progress else self.longest_match_s

    def assign(self, game: Game, referee: Who) -> None:
        game.phase, game.attempt, game.referee, game.step = PLAYING, game.attempt + 1, referee.code, 0
        game.lease = self.now + self.lease_of(referee)

    def lose(self, game: Game, *, counts: bool = True) -> None:
        if _on(game):
            game.lost += counts
            game.phase, game.lease = HELD if counts and game.lost >= MOST_LOST else READY, None
            game.held = self.now
            self.losses.append((self.now, game))

    def not_taken(self, match_id: str, attempt: int, *, answered: bool) -> None:
        """What start_match came to: the referee refused it, or was not reached."""
        game = self.games[match_id]
        judge = self.referee(game.referee)
        if _on(game) and game.attempt == attempt and judge is not None:
            judge.suspended = True
            self.lose(game, counts=answered)

    # Time, and the conductor -------------------------------------------------------------------------

    def may_judge(self) -> list[Who]:
        return [
            one
            for one in self.referees
            if one.trusted and not one.suspended and (not one.progress or self.now - one.heard <= SILENT_S)
        ]

    def look(self, seen: dict[str, tuple[int, str | None]]) -> None:
        """One look of the conductor. Which of several referees is chosen is its affair: ``seen`` has who was."""
        late = [game for game in self.games.values() if game.lease is not None and game.lease < self.now]
        for game in late:
            judge = self.referee(game.referee)
            assert judge is not None
            judge.suspended = True
        for game in late:
            self.lose(game)
        self._try_held_again()
        for number, state in enumerate(self.rounds, start=1):
            told = not any(
                one.kind == "ROUND_ANNOUNCEMENT" and one.round == number and one.state == "PENDING"
                for one in self.outbox.values()
            )
            if state == "ANNOUNCING" and not self.paused and (told or self.now - self.begun[number] >= WAIT_S):
                self.rounds[number - 1] = "RUNNING"
        self.end_what_is_over()
        busy = {self._at(code) for game in self.games.values() if _on(game) for code in game.players}
        may_play = self.state in ("RUNNING", "COMPLETED") and not self.paused
        for match_id, game in self.games.items():
            if not (may_play and game.phase == READY and self.rounds[game.round - 1] in ("RUNNING", "COMPLETED")):
                continue
            addresses = {self._at(code) for code in game.players}
            if busy & addresses:
                continue
            if self._absent() & set(game.players):
                self.finish(game, _fate(game, self._absent()))
                continue
            judges = [one for one in self.may_judge() if not game.lost or one.code != game.referee] or self.may_judge()
            attempt, code = seen[match_id]
            if attempt == game.attempt:
                assert not judges or any(self._untold(one, game) for one in judges), f"{match_id} was not handed out"
                continue
            chosen = next(one for one in judges if one.code == code)
            assert game.referee == code or game.referee not in [one.code for one in judges]
            assert not self._untold(chosen, game)
            self.assign(game, chosen)
            busy |= addresses

    def _try_held_again(self) -> None:
        """What is held is played once more when nothing has been lost for a while."""
        going = self.state in ("RUNNING", "COMPLETED") and not self.paused
        if not going or any(self.now - at < CALM_S for at, _ in self.losses):
            return
        for game in self.games.values():
            if game.phase == HELD and self.now - game.held >= self._wait(game):
                game.phase = READY

    def _wait(self, game: Game) -> int:
        """Twice as long with every further loss, but for those of a time when others were lost without it."""
        own = [at for at, lost in self.losses if lost is game]
        for at, _ in self.losses:
            alone = all(abs(at - moment) > TOGETHER_S for moment in own)
            if alone and game.held - LATELY_S < at < game.held + TOGETHER_S:
                return CALM_S
        return min(LONGEST_HOLD_S, CALM_S * 2 ** max(0, game.lost - MOST_LOST))

    def _at(self, code: str) -> str:
        return next(one.at for one in self.players if one.code == code)

    def _untold(self, referee: Who, game: Game) -> bool:
        """A foreign referee that the announcement of the round is still on its way to."""
        return not referee.progress and any(
            (one.kind, one.round, one.to, one.state) == ("ROUND_ANNOUNCEMENT", game.round, referee.code, "PENDING")
            for one in self.outbox.values()
        )

    # The instructor ----------------------------------------------------------------------------------

    def may_start(self) -> bool:
        waits = "PENDING" in self.rounds or (self.state == "REGISTRATION" and len(self.players) >= 2)
        going = self.state in ("REGISTRATION", "SCHEDULED", "RUNNING") and not self.paused
        return waits and going and not {"ANNOUNCING", "RUNNING"} & set(self.rounds) and bool(self.may_judge())

    def started(self, schedule: dict[str, tuple[tuple[str, str], int]], judges: dict[str, str | None]) -> None:
        """The next round is announced; ``schedule`` is the league's own when it was made just now."""
        if not self.rounds:
            self.games = {match_id: Game(pair, number) for match_id, (pair, number) in schedule.items()}
            self.rounds = ["PENDING"] * max(one.round for one in self.games.values())
        number = self.rounds.index("PENDING") + 1
        self.state, self.rounds[number - 1], self.begun[number] = "RUNNING", "ANNOUNCING", self.now
        for player in self.players:
            player.state = "ACTIVE" if player.state == "REGISTERED" else player.state
        for match_id, game in self.games.items():
            if game.round == number and self._absent() & set(game.players):
                self.finish(game, _fate(game, self._absent()))
            elif game.round == number:
                assert judges[match_id] in [one.code for one in self.may_judge()]
                game.phase, game.referee = READY, judges[match_id]

    def stop(self) -> bool:
        if self.state == "STOPPED":
            return False
        self.state, self.paused = "STOPPED", False
        self.rounds = ["PENDING" if one in ("ANNOUNCING", "RUNNING") else one for one in self.rounds]
        for game in self.games.values():
            if game.phase != FINISHED:
                game.phase, game.lease = PENDING, None
        self._retire({one.code for one in self.players})
        return True

    def cancel(self, match_id: str) -> bool:
        game = self.games[match_id]
        if game.phase not in OPEN:
            return False
        self.finish(game, ("CANCELLED", None))
        return True

    def release(self, match_id: str) -> bool:
        game = self.games[match_id]
        if game.phase != HELD:
            return False
        game.phase, game.lost = READY, 0
        return True

    def bring_back(self, code: str) -> None:
        _call_again(next(one for one in self.players if one.code == code))

    # Corrections -------------------------------------------------------------------------------------

    def void(self, match_id: str) -> bool:
        game = self.games[match_id]
        voids = game.result is not None and game.result[0] != "CANCELLED"
        return voids and self._correct({match_id: (FINISHED, ("CANCELLED", None))})

    def set_result(self, match_id: str, status: str, winner: str | None) -> bool:
        game = self.games[match_id]
        sets = game.phase in (*OPEN, FINISHED) and game.result != (status, winner)
        return sets and self._correct({match_id: (FINISHED, (status, winner))})

    def replay(self, match_id: str) -> bool:
        game = self.games[match_id]
        plays = self.state != "STOPPED" and game.phase in (FINISHED, HELD) and not self.out & set(game.players)
        return plays and self._correct({match_id: (READY, None)})

    def give_points(self, code: str, points: int) -> None:
        self._correct({}, player=code, points=points)

    def disqualify(self, code: str) -> bool:
        """With all its matches lost; those to come are decided when they are due."""
        theirs = {key: game for key, game in self.games.items() if code in game.players}
        if code in self.out or not theirs:
            return False
        lost = {
            key: (FINISHED, _fate(game, self.out | {code}))
            for key, game in theirs.items()
            if game.phase != PENDING and (game.result or ("", None))[0] != "CANCELLED"
        }
        changes = {key: change for key, change in lost.items() if self.games[key].result != change[1]}
        return self._correct(changes, player=code, puts_out=True)

    def undo(self, number: int) -> bool:
        """Everything that it touched is as before it; what was being played begins anew."""
        made = self.corrections[number - 1]
        if made.undone or any(one.touches & made.touches and not one.undone for one in self.corrections[number:]):
            return False
        made.undone = True
        begun = PENDING if self.state == "STOPPED" else READY
        back = {
            key: (phase if phase in (FINISHED, HELD) else begun, result) for key, (phase, result) in made.before.items()
        }
        if made.puts_out and made.player:
            self.out.discard(made.player)
        self._apply(back, made.player, -made.points)
        if made.puts_out and made.player and made.was_called and self.state == "RUNNING":
            self._call_again([made.player])
        return True

    def _correct(self, changes: Changes, *, player: str | None = None, points: int = 0, puts_out: bool = False) -> bool:
        called = all(one.state != "SHUTDOWN" for one in self.players if one.code == player)
        before = {key: (self.games[key].phase, self.games[key].result) for key in changes}
        number = len(self.corrections) + 1
        self.corrections.append(Correction(number, before, player, points, puts_out, called))
        if puts_out and player:
            self.out.add(player)
            self._retire([player])
        self._apply(changes, player, points)
        return True

    def _apply(self, changes: Changes, player: str | None, points: int) -> None:
        for key, (phase, result) in changes.items():
            game = self.games[key]
            game.phase, game.result, game.lease, game.held = phase, result, None, self.now
            if phase != FINISHED:
                game.lost = 0
            if phase in (READY, HELD):
                self._call_again(set(game.players) - self.out)
        if player and points:
            self.points[player] = self.points.get(player, 0) + points
        self.end_what_is_over()
        self._retire_the_done()

    def finish(self, game: Game, result: tuple[str, str | None]) -> None:
        game.phase, game.result, game.lease = FINISHED, result, None
        self.counted += 1
        self.end_what_is_over()
        self._retire_the_done()

    def end_what_is_over(self) -> None:
        for number, state in enumerate(self.rounds, start=1):
            theirs = [game for game in self.games.values() if game.round == number]
            if state == "RUNNING" and all(game.phase == FINISHED for game in theirs):
                self.rounds[number - 1] = "COMPLETED"
        over = set(self.rounds) == {"COMPLETED"} and all(game.phase == FINISHED for game in self.games.values())
        if over and self.state == "RUNNING":
            self.state, self.paused = "COMPLETED", False
            self._retire_the_done()

    # The table ---------------------------------------------------------------------------------------

    def table(self) -> list[tuple[str, int, int, int, int, int]]:
        """Id, points, wins, draws, losses, losses without play; the first first."""
        rows = {one.code: [self.points.get(one.code, 0), 0, 0, 0, 0] for one in self.players}
        for game in self.games.values():
            status, winner = game.result or ("CANCELLED", None)
            for code in game.players if status != "CANCELLED" else ():
                row = rows[code]
                won, technical = winner == code, status == "TECHNICAL_LOSS"
                row[0] += 3 if won else 1 if status == "DRAW" else 0
                row[1] += won
                row[2] += status == "DRAW"
                row[3] += not won and status != "DRAW"
                row[4] += not won and technical
        ranked = sorted(rows, key=lambda code: (code in self.out, *(-one for one in rows[code][:3]), int(code[1:])))
        return [(code, *rows[code]) for code in ranked]  # type: ignore[misc]


def _on(game: Game) -> bool:
    return game.phase == PLAYING


def _call_again(player: Who) -> None:
    if player.state == "SHUTDOWN":
        player.state, player.silences = "REGISTERED", 0


def _fate(game: Game, absent: set[str]) -> tuple[str, str | None]:
    left = [code for code in game.players if code not in absent]
    return "TECHNICAL_LOSS", left[0] if left else None


def _free(agents: list[Who], wanted: int | None) -> int:
    taken = {one.number for one in agents}
    if wanted is not None and wanted not in taken:
        return wanted
    return next(number for number in range(1, 100) if number not in taken)
