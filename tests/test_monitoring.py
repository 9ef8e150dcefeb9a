"""What is watched: alerts fire when they should, and alerts and dashboard name only metrics that there are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from django.conf import LazySettings

from league_sdk.judging.observing import metrics as of_referees
from matches.observing import metrics
from tests.e2e.servers import missing
from tests.paths import ROOT

ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
SCRAPE = ROOT / "deploy" / "prometheus" / "scrape.yml"
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana" / "league.json").read_text(encoding="utf-8"))
OF_OTHERS = {"up", "node_filesystem_avail_bytes", "node_filesystem_size_bytes"}
"""Metrics of Prometheus itself and of its node exporter."""


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expressions() -> Iterator[str]:
    """Every expression of the alerts and the dashboard."""
    yield from (rule["expr"] for rule in rules())
    for panel in DASHBOARD["panels"]:
        yield from (target["expr"] for target in panel.get("targets", []))


@pytest.fixture
def known(db: None, settings: LazySettings) -> set[str]:
    """The names of all metrics, those of PostgreSQL and Redis included."""
    settings.LEAGUE_LIMITS_REDIS_URL = "redis://127.0.0.1:1/0"
    texts = metrics.text().decode() + of_referees.text()
    names = set(re.findall(r"^# TYPE (\w+)", texts, re.MULTILINE))
    return names | {f"{name}_bucket" for name in names} | OF_OTHERS


def test_alerts_and_dashboard_name_only_metrics_that_there_are(known: set[str]) -> None:
    named = {name for one in expressions() for name in re.findall(r"\b(?:league|process|node)_\w+(?=[\[{)\s]|$)", one)}
    assert len(named) > 20
    assert named - known == set()


def test_every_alert_is_tested() -> None:
    text = (ROOT / "tests" / "alerts_test.yml").read_text(encoding="utf-8")
    assert [rule["alert"] for rule in rules() if f'alertname="{rule["alert"]}"' not in text] == []


def test_alerts_fire_when_they_should() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        missing("promtool is not installed (apt-get install prometheus)")
    for words in (["check", "rules", str(ALERTS)], ["test", "rules", "tests/alerts_test.yml"]):
        done = subprocess.run(
            [str(promtool), *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_kind_of_process_is_asked_under_the_name_that_alerts_know() -> None:
    (job,) = yaml.safe_load(SCRAPE.read_text(encoding="utf-8"))["scrape_configs"]
    asked = {config["labels"]["process"] for config in job["static_configs"]}
    assert (job["job_name"], asked) == ("league", {"web", "conductor", "referee"})
