"""The model: who comes into the league or the lobby, as whom, and which tokens are valid (ruling, sections 5, 8, 9)."""

from __future__ import annotations

from tests.matches.deliveries.model_moving import Moving
from tests.matches.deliveries.model_words import FINISHED, MAX_PLAYERS, MAX_TOKENS, Agent, call_again, free_number


def _find(members: list[Agent], name: str, machine: str, token: str | None) -> Agent | None:
    """A player by name and address, else by its token, whatever name it sends."""
    same = (one for one in members if (one.name, one.machine) == (name, machine))
    return next(same, None) or next((one for one in members if token in one.tokens), None)


class Entering(Moving):
    """Registrations."""

    def open_league(self) -> None:
        """The agents of the lobby enter the league, with their ids."""
        self.state, self.players, self.lobby = "REGISTRATION", self.lobby, []

    def register_player(
        self, name: str, machine: str, caller: str, token: str | None, wanted: int | None, league: str | None
    ) -> str:
        if league is not None and (league != "fall" or self.state == "NOT THERE"):
            return "E014"
        known = _find(self.players, name, machine, token)
        waiting = _find(self.lobby, name, machine, token)
        if league is None and self.state != "REGISTRATION":
            # A token of a league that is not over decides; else the lobby comes before a player known by its name.
            by_token = any(token in one.tokens for one in self.players)
            if known is None or self.has_ended() or (waiting is not None and not by_token):
                return self._register_in(self.lobby, waiting, name, machine, caller, token, wanted)
        # Behind a freeze only the player itself is told that it was taken out.
        if known is not None and known.code in self.out and (self.frozen is None or token in known.tokens):
            return "REJECTED L001"
        if known is None or (self.has_ended() and not self._still_plays(known)):
            if self.state != "REGISTRATION":
                return "REJECTED L001"
            if len(self.players) >= MAX_PLAYERS:
                return "REJECTED L002"
        return self._register_in(self.players, known, name, machine, caller, token, wanted)

    def _register_in(
        self,
        members: list[Agent],
        known: Agent | None,
        name: str,
        machine: str,
        caller: str,
        token: str | None,
        wanted: int | None,
    ) -> str:
        """Register a player in the league or the lobby; one that is known must prove its identity."""
        if known is None:
            same = sum(one.name == name for one in members)
            display_name = f"{name} ({same + 1})" if same else name
            self.entering = Agent(free_number(members, wanted), "P", name, display_name, machine, caller)
            members.append(self.entering)
            self._check_proof(self.entering, token, proven=caller == machine, again=False)
        elif token not in known.tokens and caller != known.machine:
            return "REJECTED L003"
        else:
            self.entering = known
            call_again(known)
            # Until it moves it is who it is at its address.
            self._check_proof(known, token, proven=caller == known.machine, again=True)
        if self.entering.machine != machine:
            self.begin_move(self.entering, machine, caller)
            return "ACCEPTED"
        self.entering.move = None
        if caller == machine:
            self.entering.home_at = self.now
        return "ACCEPTED"

    def _still_plays(self, player: Agent) -> bool:
        theirs = [match for match in self.matches.values() if player.code in match.players]
        return self.state == "COMPLETED" and any(match.phase != FINISHED for match in theirs)

    def register_referee(
        self, name: str, machine: str, caller: str, token: str | None, key: bool, progress: bool
    ) -> str:
        """Register a referee, with the site's ``key`` or without; in this model each name has its own port."""
        known = next((one for one in self.referees if one.name == name), None)
        again = known is not None
        if known is None:
            known = Agent(free_number(self.referees, None), "REF", name, name, machine, caller)
            self.referees.append(known)
        elif not key and token not in known.tokens and (known.site_key or caller != known.machine):
            return "REJECTED L003"
        elif not key and known.machine != machine and token not in known.tokens:
            known.trusted = False
        if again and key and not known.site_key:
            # The referee that had this name and port was not the site's.
            known.tokens, known.lost_matches = {}, 0
        known.trusted, known.site_key = known.trusted or key, known.site_key or key
        proven = key or (not known.site_key and caller == machine)
        if known.machine != machine and not proven:
            # A proof at the old address is none at the new one.
            known.tokens = dict.fromkeys(known.tokens, False)
        known.machine, known.sends_progress, known.suspended, known.last_call_at = machine, progress, False, self.now
        self.entering = known
        self._check_proof(known, token, proven=proven, again=again)
        if again:
            for match in self.matches.values():
                if match.referee == known.code:
                    self.lose_attempt(match)
        return "ACCEPTED"

    def _check_proof(self, agent: Agent, token: str | None, *, proven: bool, again: bool) -> None:
        """Note whether the identity of the agent is proved; a proof ends the tokens that it was not proved with."""
        if again and proven:
            agent.tokens = {one: proved for one, proved in agent.tokens.items() if proved}
        self.proven = proven or agent.tokens.get(token or "", False)

    def add_token(self, token: str) -> None:
        """Add the token that the league gave to the agent it has just accepted."""
        self.entering.tokens[token] = self.proven
        if self.entering.move is not None:
            # The one that registers now has the newest token.
            self.entering.move.token = token
        self.entering.tokens = dict(list(self.entering.tokens.items())[-MAX_TOKENS:])
