"""What the league remembers: constraints, no actions."""

from matches.models.check import Check, CheckRole, CheckState
from matches.models.desk import Correction, CorrectionKind, Notice, Role, RoleName
from matches.models.lead import Lead
from matches.models.league import Event, League, Match, Message, Round
from matches.models.outbox import Broadcast, Delivery, DeliveryState

__all__ = [
    "Broadcast",
    "Check",
    "CheckRole",
    "CheckState",
    "Correction",
    "CorrectionKind",
    "Delivery",
    "DeliveryState",
    "Event",
    "Lead",
    "League",
    "Match",
    "Message",
    "Notice",
    "Role",
    "RoleName",
    "Round",
]
