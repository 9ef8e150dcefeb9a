"""The tables of leagues: columns and constraints, no actions."""

from matches.models.audit import AuditEntry, Via
from matches.models.check import LINES, Check, CheckAnswer, CheckRole, CheckState, CheckWay, Opponent
from matches.models.conductor_lease import ConductorLease
from matches.models.desk import Correction, CorrectionKind, Notice, Role, RoleName
from matches.models.league import Event, League, Match, Message, Round
from matches.models.outbox import Broadcast, Delivery, DeliveryState
from matches.models.series import Series

__all__ = [
    "LINES",
    "AuditEntry",
    "Broadcast",
    "Check",
    "CheckAnswer",
    "CheckRole",
    "CheckState",
    "CheckWay",
    "ConductorLease",
    "Correction",
    "CorrectionKind",
    "Delivery",
    "DeliveryState",
    "Event",
    "League",
    "Match",
    "Message",
    "Notice",
    "Opponent",
    "Role",
    "RoleName",
    "Round",
    "Series",
    "Via",
]
