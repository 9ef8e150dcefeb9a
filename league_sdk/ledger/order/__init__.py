"""The order of a table: a list of criteria, each of which splits those whom the ones before leave equal. Pure."""

from league_sdk.ledger.order.order import DEFAULT, Order, UnknownCriterion

__all__ = ["DEFAULT", "Order", "UnknownCriterion"]
