"""OpenTelemetry traces, if they are enabled and the packages of ``requirements/telemetry.txt`` are installed.

``LEAGUE_OTEL=1`` or ``OTEL_EXPORTER_OTLP_ENDPOINT`` enables them. There is one span for every piece of work
(:func:`league_sdk.protocol.records.work`), for example a call by an agent, a message to an agent, or a match.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from league_sdk.protocol import records
from league_sdk.protocol.redaction import redact

MISSING = "OpenTelemetry is not installed: no traces. Install requirements/telemetry.txt or unset LEAGUE_OTEL and {}.\n"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


def wanted() -> bool:
    """Whether the environment enables traces."""
    return os.environ.get("LEAGUE_OTEL") == "1" or bool(os.environ.get(ENDPOINT))


def start(component: str, *, exporter: Any = None) -> Any | None:
    """Start tracing in this process, if it is enabled. If the packages are missing, say so on standard error.

    Args:
        component: ``host``, ``web``, ``conductor`` or ``referee``; the service is named ``league-<component>``.
        exporter: receives the spans; None sends them by OTLP over HTTP to the endpoint in the environment.

    Returns the provider, whose ``shutdown()`` sends the remaining spans; None without traces.
    """
    if exporter is None and not wanted():
        return None
    try:
        # These packages are optional, so they are imported only if traces are enabled.
        trace = import_module("opentelemetry.sdk.trace")
        export = import_module("opentelemetry.sdk.trace.export")
        resources = import_module("opentelemetry.sdk.resources")
        if exporter is None:
            exporter = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter()
    except ImportError:
        sys.stderr.write(MISSING.format(ENDPOINT))
        return None
    provider = trace.TracerProvider(resource=resources.Resource.create({"service.name": f"league-{component}"}))
    # The processor sends spans from its own thread, so that no request waits for a collector.
    provider.add_span_processor(export.BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("leaguesite")

    @contextmanager
    def span(name: str, about: Mapping[str, Any]) -> Iterator[None]:
        with tracer.start_as_current_span(name) as current:
            try:
                yield
            finally:
                # More fields may have been added during the work, so they are read at its end.
                current.set_attributes(_attributes(about))

    records.add_tracer(span)
    return provider


def _attributes(about: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: about[name] for name in records.FIELDS if about.get(name) is not None}
    return {
        f"league.{name}": value if isinstance(value, (int, float)) else str(redact(value))[:200]
        for name, value in known.items()
    }
