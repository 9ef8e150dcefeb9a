"""Agents and the hashes of their tokens: constraints, no actions (writes are in registration.py)."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from agents_registry.looks import MAX_LOOK_CHARS
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS, MAX_ID_CHARS, MAX_NAME_CHARS, MAX_VERSION_CHARS
from league_sdk.protocol.states import AgentState
from storage.inside import Quick

MAX_PERSONAL_CODE_CHARS = 32


class Kind(models.TextChoices):
    PLAYER = "player", _("player")
    REFEREE = "referee", _("referee")


class RosterEntry(models.Model):
    """One person who may bring agents to a league, known by a personal code (our choice).

    Name, e-mail and code are for the instructor only: no page, query or message of the league shows them.
    """

    league = models.ForeignKey(
        "matches.League", verbose_name=_("league"), on_delete=models.CASCADE, related_name="roster"
    )
    name = models.CharField(_("name"), max_length=MAX_NAME_CHARS)
    email = models.EmailField(_("e-mail"), help_text="In lower case: two spellings are one person.")
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


class Agent(Quick, models.Model):
    """A player of one league (or of the lobby: no league yet), or a referee (of the site, or of one league)."""

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
        help_text="What may be in one match only (agents_registry.programs), as found when a match was last given out.",
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
    heard_at = models.DateTimeField(_("last heard"), null=True, editable=False)
    check_wanted = models.BooleanField(default=False, editable=False)
    checked_at = models.DateTimeField(_("checked"), null=True, editable=False)
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


class NameLook(models.Model):
    """One of the one to four texts that an agent's names look like (``agents_registry.looks``), for finding it."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="looks")
    look = models.CharField(max_length=MAX_LOOK_CHARS, db_index=True)

    def __str__(self) -> str:
        return self.look


class NameRefused(models.Model):
    """A registration whose name looks like that of another agent: the instructor may let it in.

    Attributes:
        league: where it came to; none for a referee of the site.
        let_in: its next registration is taken. Then the row goes.
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
    """The SHA-256 of one auth_token. Several may be valid; revoking deletes.

    ``proven``: it was given to somebody who had shown to be the agent, and not just named its address.
    """

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="tokens")
    sha256 = models.CharField(max_length=64, unique=True)
    proven = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"token of {self.agent_id}"


class Gateway(models.Model):
    """A host that many programs share, each under its own path: the instructor has said so."""

    host = models.CharField(max_length=MAX_ENDPOINT_CHARS, unique=True)
    marked_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.host
