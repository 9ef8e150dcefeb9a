"""Traces for OpenTelemetry, where they are wanted and installed (``requirements/telemetry.txt``).

On with ``LEAGUE_OTEL=1``, or when ``OTEL_EXPORTER_OTLP_ENDPOINT`` says where they go. One span for every piece of work
that log records tell of (:func:`league_sdk.protocol.records.work`): a call of an agent, a message to one, a match.
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
    """Whether the environment asks for traces."""
    return os.environ.get("LEAGUE_OTEL") == "1" or bool(os.environ.get(ENDPOINT))


def start(component: str, *, exporter: Any = None) -> Any | None:
    """Begin to trace this process if that is wanted; without the packages a sentence on standard error, and no traces.

    Args:
        component: ``web``, ``conductor`` or ``referee``: the service is ``league-<component>``.
        exporter: where spans go; none: by OTLP over HTTP to where the environment says.

    Returns the provider, whose ``shutdown()`` sends what is left; None without traces.
    """
    if exporter is None and not wanted():
        return None
    try:
        # Optional packages: only here, and only when they are asked for.
        trace = import_module("opentelemetry.sdk.trace")
        export = import_module("opentelemetry.sdk.trace.export")
        resources = import_module("opentelemetry.sdk.resources")
        if exporter is None:
            exporter = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter()
    except ImportError:
        sys.stderr.write(MISSING.format(ENDPOINT))
        return None
    provider = trace.TracerProvider(resource=resources.Resource.create({"service.name": f"league-{component}"}))
    # Sends from a thread of its own: no request waits for a collector.
    provider.add_span_processor(export.BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("leaguesite")

    @contextmanager
    def span(name: str, about: Mapping[str, Any]) -> Iterator[None]:
        with tracer.start_as_current_span(name) as current:
            try:
                yield
            finally:
                # By now the work knows what it was about.
                current.set_attributes(_attributes(about))

    records.add_tracer(span)
    return provider


def _attributes(about: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: about[name] for name in records.FIELDS if about.get(name) is not None}
    return {
        f"league.{name}": value if isinstance(value, (int, float)) else str(redact(value))[:200]
        for name, value in known.items()
    }
