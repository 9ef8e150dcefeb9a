"""Leagues, rounds, matches, transcripts and events: columns and constraints, no actions.

The matches themselves are the queue of work: state, referee, attempt and lease say what is due.
"""

from __future__ import annotations

from typing import ClassVar

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from agents_registry.models import Agent
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.limits import MAX_ID_CHARS, MAX_NAME_CHARS
from league_sdk.protocol.states import LeagueState, MatchState, ResultStatus, RoundState
from matches.models.series import Series
from storage.inside import QuickLoad


class _Shown(models.Manager["League"]):
    """The leagues that are not hidden."""

    def get_queryset(self) -> models.QuerySet[League]:
        return super().get_queryset().filter(remove_at__isnull=True)


class League(QuickLoad, models.Model):
    """A league. ``League.objects`` has those that anybody may see; ``League.with_hidden`` has all."""

    league_id = models.CharField(
        _("league id"),
        max_length=MAX_ID_CHARS,
        primary_key=True,
        validators=[RegexValidator(r"^[A-Za-z0-9][A-Za-z0-9_-]*\Z", _("Use letters, digits, - and _ only."))],
        help_text=_("Agents name the league by this; letters, digits, - and _."),
    )
    display_name = models.CharField(_("name"), max_length=MAX_NAME_CHARS)
    game_type = models.CharField(_("game"), max_length=MAX_ID_CHARS, default="even_odd")
    state = models.CharField(
        _("state"), max_length=12, choices=[(s, s) for s in LeagueState], default=LeagueState.REGISTRATION
    )
    paused = models.BooleanField(_("paused"), default=False)
    demo = models.BooleanField(default=False, editable=False)
    settings = models.JSONField(
        _("settings"), default=dict, blank=True, help_text=_("What differs from the defaults, as JSON.")
    )
    left_out = models.JSONField(
        default=dict, editable=False, help_text="Players that are not in the schedule, as their check had not passed."
    )
    out = models.JSONField(
        default=dict, editable=False, help_text="Players that were withdrawn or disqualified, by id, and what for."
    )
    starts_at = models.DateTimeField(_("starts at"), null=True, editable=False)
    advances = models.BooleanField(
        null=True,
        editable=False,
        help_text="Whether the rounds follow each other, as the instructor clicked; null: as the setting says.",
    )
    starts_all = models.BooleanField(
        default=False, editable=False, help_text="Whether the planned start begins every round, not only the next one."
    )
    freeze_from = models.PositiveIntegerField(
        null=True, editable=False, help_text="The first round whose results the public does not see."
    )
    frozen_seq = models.PositiveBigIntegerField(
        null=True, editable=False, help_text="The last event the public sees while the board is frozen."
    )
    frozen = models.JSONField(
        default=dict, editable=False, help_text="What else the public saw when the board was frozen."
    )
    unveiled = models.PositiveIntegerField(
        default=0, editable=False, help_text="Places of the final table shown already, from the last one up."
    )
    screen = models.JSONField(
        default=dict, editable=False, help_text="How the instructor steers the projector (matches.view.screens)."
    )
    event_seq = models.PositiveBigIntegerField(default=0, editable=False)
    ledger_head = models.CharField(
        max_length=64, blank=True, default="", editable=False, help_text="The digest of the last event."
    )
    created_at = models.DateTimeField(editable=False)
    started_at = models.DateTimeField(null=True, editable=False)
    completed_at = models.DateTimeField(null=True, editable=False)
    archived_at = models.DateTimeField(
        null=True, editable=False, help_text="Since when lists leave it out and nothing in it can be changed."
    )
    remove_at = models.DateTimeField(
        null=True, editable=False, help_text="Of a hidden league, when to delete its rows (matches.league.removing)."
    )

    series = models.ForeignKey(Series, null=True, editable=False, on_delete=models.SET_NULL, related_name="leagues")
    series_place = models.PositiveSmallIntegerField(
        null=True, editable=False, help_text="Its place among the leagues of its series."
    )

    objects: ClassVar[models.Manager[League]] = _Shown()
    with_hidden: ClassVar[models.Manager[League]] = models.Manager()

    class Meta:
        verbose_name = _("league")
        verbose_name_plural = _("leagues")
        constraints = [
            models.CheckConstraint(name="league_state", condition=Q(state__in=list(LeagueState))),
        ]

    def __str__(self) -> str:
        return self.display_name

    @property
    def rules(self) -> LeagueSettings:
        """The settings with their defaults filled in."""
        return LeagueSettings.model_validate(self.settings)

    @property
    def runs_all(self) -> bool:
        """Whether the rounds follow each other by themselves now: as was clicked, or else by the setting."""
        return self.rules.auto_advance if self.advances is None else self.advances


class Round(QuickLoad, models.Model):
    league = models.ForeignKey(League, on_delete=models.CASCADE, related_name="rounds")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=12, choices=[(s, s) for s in RoundState], default=RoundState.PENDING)
    bye = models.ForeignKey(Agent, null=True, on_delete=models.SET_NULL, related_name="+")
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(name="round_state", condition=Q(state__in=list(RoundState))),
            models.UniqueConstraint(name="round_number", fields=["league", "number"]),
            # One active round per league, also if two instructors or conductors act at once.
            models.UniqueConstraint(
                name="round_one_active",
                fields=["league"],
                condition=Q(state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.league_id} round {self.number}"


class Match(QuickLoad, models.Model):
    # These foreign keys have no index of their own: match_id_in_league finds the matches of a league, match_round those
    # of a round, match_judged those of a referee.
    league = models.ForeignKey(League, on_delete=models.CASCADE, related_name="matches", db_index=False)
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="matches", db_index=False)
    match_id = models.CharField(max_length=MAX_ID_CHARS)
    player_a = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+")
    player_b = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+")
    referee = models.ForeignKey(Agent, null=True, on_delete=models.SET_NULL, related_name="judged", db_index=False)
    state = models.CharField(max_length=20, choices=[(s, s) for s in MatchState], default=MatchState.PENDING)
    attempt = models.PositiveIntegerField(default=0)
    lost_attempts = models.PositiveIntegerField(default=0)
    conversation_id = models.CharField(max_length=80, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    held_at = models.DateTimeField(null=True)
    # The ids of the players that have accepted the invitation, and of those whose choice is in.
    joined = models.JSONField(default=list)
    locked_in = models.JSONField(default=list)
    # What everybody may see of the game in play, as its referee reported it.
    view = models.JSONField(default=dict)
    # Each state that the match has been in, with the time at which it began.
    lifecycle = models.JSONField(default=list)
    status = models.CharField(max_length=16, blank=True, default="")
    winner = models.ForeignKey(Agent, null=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.CharField(max_length=500, blank=True, default="")
    details = models.JSONField(default=dict)
    faults = models.JSONField(default=list)
    said = models.JSONField(
        default=dict, help_text="By player, its own words in place of an answer; for its owner and the staff only."
    )
    finished_at = models.DateTimeField(null=True)
    seal = models.JSONField(
        null=True,
        help_text="The verdict that the referee deposited before anybody was told (matches.league.sealing).",
    )
    moves = models.JSONField(default=list, help_text="Accepted moves of a game without hidden choices, in order.")
    excused = models.JSONField(
        default=list,
        help_text="Tries of players that the referee's own failure spoilt, with the evidence and whether each counted.",
    )
    unreached = models.JSONField(
        null=True,
        help_text="Which referee could not reach which player, so that one in another place plays the match.",
    )
    play = models.PositiveIntegerField(default=1, help_text="One higher for each replay that the instructor orders.")
    draw_seed = models.CharField(max_length=64, blank=True, default="", help_text="Hex; secret until the end was told.")

    class Meta:
        verbose_name = _("match")
        verbose_name_plural = _("matches")
        constraints = [
            models.CheckConstraint(name="match_state", condition=Q(state__in=list(MatchState))),
            models.CheckConstraint(name="match_status", condition=Q(status__in=["", *ResultStatus])),
            models.CheckConstraint(
                name="match_finished_has_status",
                condition=Q(state=MatchState.FINISHED, finished_at__isnull=False) & ~Q(status="")
                | ~Q(state=MatchState.FINISHED) & Q(status="", finished_at__isnull=True),
            ),
            models.CheckConstraint(name="match_two_players", condition=~Q(player_a=F("player_b"))),
            models.UniqueConstraint(name="match_id_in_league", fields=["league", "match_id"]),
        ]
        indexes = [
            # Not a partial index: SQLite uses one only for a statement that repeats its condition literally, and would
            # read half a million matches at every look otherwise. SQLite also uses this index for PENDING and FINISHED,
            # which nearly all matches are: combine these states with a more selective condition.
            models.Index(name="match_open", fields=["state", "lease_until"]),
            # With the state, so that matches can be counted by state from the index alone.
            models.Index(name="match_round", fields=["round", "state"]),
            # So that a progress report reads the matches in play, not all that its referee has ever judged.
            models.Index(name="match_judged", fields=["referee", "state"]),
            # Partial, as few matches have it; this condition has no value, so SQLite recognises it.
            models.Index(name="match_handed_on", fields=["finished_at"], condition=Q(unreached__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.league_id} {self.match_id}"

    @property
    def player_ids(self) -> tuple[str, str]:
        """The ids of PLAYER_A and PLAYER_B."""
        return self.player_a.code, self.player_b.code

    @property
    def between_siblings(self) -> bool:
        """Whether both players belong to one person of the roster, which only an instructor may know.

        Agents that have registered from one address are not taken for one person's: a class may share one.
        """
        return self.player_a.owner_id is not None and self.player_a.owner_id == self.player_b.owner_id


class Message(QuickLoad, models.Model):
    """One entry of a match's transcript (004 9.4.3), as `league_sdk.protocol.transcript` builds it."""

    match = models.ForeignKey(Match, on_delete=models.CASCADE, related_name="messages", db_index=False)
    attempt = models.PositiveIntegerField()
    n = models.PositiveIntegerField()
    entry = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(name="message_once", fields=["match", "attempt", "n"])]

    def __str__(self) -> str:
        return f"{self.match_id} {self.attempt}.{self.n}"


class Event(QuickLoad, models.Model):
    """One change of a league. Its sentence is made where it is shown."""

    league = models.ForeignKey(League, on_delete=models.CASCADE, related_name="events", db_index=False)
    seq = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=32)
    data = models.JSONField(default=dict)
    at = models.DateTimeField()
    digest = models.CharField(max_length=64, blank=True, default="", help_text="SHA-256 of the chain up to this event.")
    salt = models.CharField(max_length=64, blank=True, default="", help_text="Hex; hashed with the private part.")

    class Meta:
        constraints = [models.UniqueConstraint(name="event_seq", fields=["league", "seq"])]

    def __str__(self) -> str:
        return f"{self.league_id} {self.seq} {self.kind}"
