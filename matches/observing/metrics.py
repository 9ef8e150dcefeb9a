"""What the conductor and the live pages count, for ``/metrics``. No label holds what an agent or a browser sent."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REGISTRY = CollectorRegistry()
"""Of this process; ``leaguesite.observing.metrics`` adds what belongs to requests, and answers with all of it."""
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
OK = "ok"

# The conductor -------------------------------------------------------------------------------

LOOK_SECONDS = Histogram(
    "league_look_seconds", "Time of one look of the conductor at the rows.", buckets=SECONDS, registry=REGISTRY
)
LOOK_FAILURES = Counter("league_look_failures", "Looks that ended in an error.", registry=REGISTRY)
LOOKED_AT = Gauge("league_last_look_timestamp_seconds", "When the last look at the rows ended.", registry=REGISTRY)
DELIVERIES = Counter(
    "league_deliveries",
    "Messages that this site sent to agents, by what became of them: ok, or the cause of the failure.",
    ["message_type", "outcome"],
    registry=REGISTRY,
)
DELIVERY_SECONDS = Histogram(
    "league_delivery_seconds",
    "Time until an agent answered a message of this site, or did not.",
    ["message_type"],
    buckets=SECONDS,
    registry=REGISTRY,
)
DELIVERY_RETRIES = Counter("league_delivery_retries", "Messages sent once more.", registry=REGISTRY)

# Live pages ----------------------------------------------------------------------------------

SOCKETS = Gauge("league_sockets", "Open sockets of live pages.", registry=REGISTRY)
SOCKETS_REFUSED = Counter("league_sockets_refused", "Sockets not opened: there were too many.", registry=REGISTRY)
SOCKETS_DROPPED = Counter(
    "league_sockets_dropped", "Sockets closed: the browser took nothing for too long.", registry=REGISTRY
)
FRAMES = Counter("league_frames_sent", "Frames sent to browsers.", registry=REGISTRY)
RENDER_SECONDS = Histogram("league_render_seconds", "Time to render one live page.", buckets=SECONDS, registry=REGISTRY)
