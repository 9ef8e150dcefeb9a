"""Agents, their tokens and names, people on rosters, gateways: rows and constraints (``registering`` writes)."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from league_sdk.protocol.inbox import SCHEME
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS, MAX_ID_CHARS, MAX_NAME_CHARS, MAX_VERSION_CHARS
from league_sdk.protocol.states import AgentState
from storage import clock
from storage.inside import QuickLoad

MAX_EMAIL_CHARS = 254
MAX_PERSONAL_CODE_CHARS = 32
MAX_LINE_AGE = timedelta(seconds=60)
"""A line that was not renewed for this long belonged to a process that was killed."""
MAX_SKELETON_CHARS = 200
"""A skeleton may be longer than its name, as "m" is replaced by "rn"; the rest is cut off."""


class Kind(models.TextChoices):
    PLAYER = "player", _("player")
    REFEREE = "referee", _("referee")


class RosterEntry(models.Model):
    """One person who may bring agents to a league, known by a personal code (our choice).

    Name, e-mail and code are for the staff only: no public page, query or message of the league shows them.
    """

    league = models.ForeignKey(
        "matches.League", verbose_name=_("league"), on_delete=models.CASCADE, related_name="roster"
    )
    name = models.CharField(_("name"), max_length=MAX_NAME_CHARS)
    email = models.EmailField(
        _("e-mail"), max_length=MAX_EMAIL_CHARS, help_text="In lower case: two spellings are one person."
    )
    code = models.CharField(_("personal code"), max_length=MAX_PERSONAL_CODE_CHARS)

    class Meta:
        verbose_name = _("person on a roster")
        verbose_name_plural = _("rosters")
        constraints = [
            models.UniqueConstraint("league", Lower("code"), name="roster_code_in_league"),
            models.UniqueConstraint(name="roster_email_in_league", fields=["league", "email"]),
        ]

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


class ReachedBy(models.TextChoices):
    """How an agent is reached now."""

    ADDRESS = "address", _("called at its address")
    POLL = "poll", _("dials out (long poll)")
    WEBSOCKET = "websocket", _("dials out (WebSocket)")
    NOTHING = "nothing", _("dials out, and has no line open now")


class Agent(QuickLoad, models.Model):
    """A player of one league (or of the lobby: no league yet), or a referee of one league (or of all: no league)."""

    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    code = models.CharField(_("id"), max_length=MAX_ID_CHARS)
    league = models.ForeignKey(
        "matches.League",
        verbose_name=_("league"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="agents",
    )
    promised_league_id = models.CharField(max_length=MAX_ID_CHARS, blank=True, default="", editable=False)
    name = models.CharField(_("registered name"), max_length=MAX_NAME_CHARS)
    display_name = models.CharField(_("name"), max_length=MAX_NAME_CHARS + 8)
    sender_name = models.CharField(max_length=MAX_NAME_CHARS, blank=True, default="", editable=False)
    wanted_id = models.CharField(max_length=MAX_ID_CHARS, blank=True, default="", editable=False)
    endpoint = models.CharField(_("address"), max_length=MAX_ENDPOINT_CHARS)
    endpoint_key = models.CharField(max_length=MAX_ENDPOINT_CHARS, editable=False)
    program = models.TextField(
        blank=True,
        default="",
        editable=False,
        help_text=(
            "Keys of its program, each of which may be in one match at a time, found when a match was last assigned."
        ),
    )
    addresses = models.TextField(
        blank=True, default="", editable=False, help_text="The IP addresses that the address led to then."
    )
    version = models.CharField(_("version"), max_length=MAX_VERSION_CHARS, blank=True, default="")
    game_types = models.JSONField(_("games"), default=list, blank=True)
    dialect = models.CharField(_("dialect"), max_length=32, default="canonical")
    spoken = models.JSONField(
        default=dict, editable=False, help_text="Message type: the shape in which this agent was seen to understand it."
    )
    learned = models.JSONField(
        default=dict,
        editable=False,
        help_text="What else was found out of how it speaks: its own names of tools, and if it wants a session.",
    )
    registrations = models.PositiveIntegerField(
        default=0, editable=False, help_text="How often it has registered; what was learned is of the last time."
    )
    owner = models.ForeignKey(
        RosterEntry,
        verbose_name=_("owner"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="agents",
        help_text=_("The person on the league's roster whose personal code it brought. Never shown in public."),
    )
    by_hand = models.BooleanField(_("added by hand"), default=False, editable=False)
    state = models.CharField(
        _("state"), max_length=12, choices=[(s, s) for s in AgentState], default=AgentState.REGISTERED
    )
    trusted = models.BooleanField(
        _("may judge"), default=False, help_text=_("A referee is given matches only when this is ticked.")
    )
    site_key = models.BooleanField(
        default=False, editable=False, help_text="A referee that has shown the site's own key, and must show it again."
    )
    readmit = models.BooleanField(
        _("let it register again"),
        default=False,
        help_text=_("The next registration under this name and address is taken without proof, once."),
    )
    max_concurrent = models.PositiveSmallIntegerField(_("matches at once"), default=1)
    sends_progress = models.BooleanField(default=False, editable=False)
    # Of a student's referee: the matches that it lost in a row.
    silences = models.PositiveSmallIntegerField(_("silences in a row"), default=0, editable=False)
    token_epoch = models.PositiveIntegerField(default=0, editable=False)
    notes = models.JSONField(_("what was odd at registration"), default=list, blank=True)
    registered_at = models.DateTimeField(_("registered"), editable=False)
    registered_from = models.CharField(
        max_length=45,
        blank=True,
        default="",
        editable=False,
        help_text="The caller's address; empty where none is known.",
    )
    shown_at = models.DateTimeField(
        null=True,
        editable=False,
        help_text="When it last registered from the machine of its address, or was let in by the instructor.",
    )
    # The database has the default, too: a process of the version before may still make agents when the column is there.
    moving = models.JSONField(
        default=dict,
        db_default=models.Value({}, models.JSONField()),
        editable=False,
        help_text="A registration at another address that does not count yet (registering.moving); empty for none.",
    )
    heard_at = models.DateTimeField(_("last heard"), null=True, editable=False)
    line = models.CharField(
        max_length=9,
        blank=True,
        default="",
        editable=False,
        help_text="How it dials out: poll or websocket; empty when it had no line when that was last written.",
    )
    line_seen_at = models.DateTimeField(null=True, editable=False)
    call_found = models.CharField(
        max_length=200,
        blank=True,
        default="",
        editable=False,
        help_text="What the last call at its address found in place of an agent; empty for none, or if it answered.",
    )
    contested_at = models.DateTimeField(
        null=True, editable=False, help_text="When its line was last taken over again and again."
    )
    # The columns keep their first names: a process of the version before may still run when the database is upgraded.
    ping_wanted = models.BooleanField(default=False, editable=False, db_column="check_wanted")
    pinged_at = models.DateTimeField(_("last asked"), null=True, editable=False, db_column="checked_at")
    problem = models.CharField(_("last problem"), max_length=200, blank=True, default="", editable=False)

    class Meta:
        verbose_name = _("agent")
        verbose_name_plural = _("agents")
        constraints = [
            models.CheckConstraint(name="agent_kind", condition=Q(kind__in=list(Kind))),
            models.CheckConstraint(name="agent_state", condition=Q(state__in=list(AgentState))),
            models.UniqueConstraint(
                name="agent_code_in_league",
                fields=["league", "kind", "code"],
                condition=Q(league__isnull=False),
            ),
            models.UniqueConstraint(
                name="agent_code_of_site", fields=["kind", "code"], condition=Q(league__isnull=True)
            ),
            # Those of imported leagues have never registered here, and keep the ids that their results name.
            models.UniqueConstraint(
                name="referee_code", fields=["code"], condition=Q(kind="referee", registrations__gt=0)
            ),
            models.UniqueConstraint(
                name="agent_identity_in_league",
                fields=["league", "kind", "name", "endpoint_key"],
                condition=Q(league__isnull=False),
            ),
            models.UniqueConstraint(
                name="agent_identity_of_site",
                fields=["kind", "name", "endpoint_key"],
                condition=Q(league__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.display_name}"

    @property
    def dials_out_now(self) -> str:
        """How it dials out now: poll or websocket; empty if it has no line."""
        fresh = self.line_seen_at is not None and clock.now() - self.line_seen_at < MAX_LINE_AGE
        return self.line if fresh else ""

    @property
    def is_inbox_only(self) -> bool:
        """Whether it has no address and is reached through its inbox only (ruling, section 13)."""
        return self.endpoint.startswith(f"{SCHEME}:")

    @property
    def reached_by(self) -> ReachedBy:
        """How it is reached now."""
        if line := self.dials_out_now:
            return ReachedBy(line)
        return ReachedBy.NOTHING if self.is_inbox_only else ReachedBy.ADDRESS

    @property
    def was_reached(self) -> bool:
        """Whether anything came of it after its first registration: a message, a line that it opened, a ping, a call.

        The first registration proves nothing: it was sent unasked, and its address may be wrong.
        """
        was_heard_again = self.heard_at is not None and self.heard_at > self.registered_at
        return was_heard_again or self.pinged_at is not None or bool(self.call_found)

    @property
    def told_endpoint(self) -> str:
        """The address that other agents are told.

        An agent without an address is told as the league's address, which passes answers on; so is the site's own
        referee behind a tunnel.
        """
        public, local = str(settings.LEAGUE_PUBLIC_URL), "http://127.0.0.1:"
        hidden = self.site_key and self.endpoint.startswith(local) and not public.startswith(local)
        return f"{public}/mcp" if self.is_inbox_only or hidden else self.endpoint

    @property
    def registration(self) -> str:
        """A name for its last registration, to tell what was learned after it from what was learned before."""
        return f"{self.pk}.{self.registrations}"


class NameLook(models.Model):
    """One of the skeletons of an agent's names (``names.skeletons``; one to four), indexed, in the field ``look``."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="looks")
    look = models.CharField(max_length=MAX_SKELETON_CHARS, db_index=True)

    def __str__(self) -> str:
        return self.look


class NameRefused(models.Model):
    """A registration that was refused because its name looks like that of another agent.

    Attributes:
        league: the league that it was for; None for a referee of all leagues.
        let_in: the instructor let it in: its next registration is taken, and the row is deleted.
    """

    league = models.ForeignKey("matches.League", null=True, on_delete=models.CASCADE, related_name="names_refused")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    name = models.CharField(max_length=MAX_NAME_CHARS)
    endpoint = models.CharField(max_length=MAX_ENDPOINT_CHARS)
    endpoint_key = models.CharField(max_length=MAX_ENDPOINT_CHARS)
    resembles = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+")
    caller = models.CharField(max_length=45, blank=True)
    at = models.DateTimeField()
    let_in = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="name_refused_in_league",
                fields=["league", "kind", "name", "endpoint_key"],
                condition=Q(league__isnull=False),
            ),
            models.UniqueConstraint(
                name="name_refused_at_site", fields=["kind", "name", "endpoint_key"], condition=Q(league__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.kind})"


class AgentToken(models.Model):
    """The SHA-256 of one auth_token. Several may be valid; revoking deletes them.

    ``proven``: it was given to somebody who proved to be the agent, and did not only name its address.
    """

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="tokens")
    sha256 = models.CharField(max_length=64, unique=True)
    proven = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"token of {self.agent_id}"


class Gateway(models.Model):
    """A host that the instructor has marked as shared by many programs, each under its own path."""

    host = models.CharField(max_length=MAX_ENDPOINT_CHARS, unique=True)
    marked_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.host
