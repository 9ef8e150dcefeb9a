"""league.v2: envelope, messages, states, errors, limits and JSON-RPC, without any I/O."""

PROTOCOL = "league.v2"
PROTOCOL_VERSION = "2.1.0"
MINIMUM_PROTOCOL_VERSION = "2.0.0"
SDK_VERSION = "0.9.0"
"""The version of this package; it is defined here because every layer may import this module."""
