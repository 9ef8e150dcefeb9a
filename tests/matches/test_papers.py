"""The papers of a league: tables without formulas, the folders of 004 chapter 9, a sheet for each student."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.utils import translation

from league_sdk.config_loader import ConfigLoader
from league_sdk.repositories import (
    MatchRepository,
    PlayerHistoryRepository,
    RoundsRepository,
    StandingsRepository,
)
from matches.league import freeze, opening
from matches.models import League
from matches.papers import bundle, evidence, export_zip, tables
from matches.view import queries, sight
from tests import factories as make
from tests import rich
from tests.sizes import sampled

DESK = "/admin/matches/league/fall/papers/"


def table(name: str, *, people: bool = True) -> list[dict[str, str]]:
    out = io.BytesIO()
    tables.write(name, League.objects.get(pk="fall"), out, people=people)
    text = out.getvalue().decode("utf-8-sig")
    assert out.getvalue().startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def content(answer: Any) -> bytes:
    return b"".join(answer.streaming_content)


# Tables -----------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_no_cell_is_a_formula() -> None:
    rich.over()
    for name in tables.TABLES:
        rows = table(name)
        assert rows, name
        for row in rows:
            assert None not in row and None not in row.values(), "a row is as long as the head"
            for cell in row.values():
                number = cell.lstrip("-").replace(".", "").isdigit()
                assert number or not cell.startswith(("=", "+", "-", "@", "\t", "\r")), (name, row)


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("a=1", "a=1"),
        (-3, -3),
        (None, ""),
        ("", ""),
    ],
)
def test_a_text_that_a_spreadsheet_would_compute_gets_an_apostrophe(cell: object, written: object) -> None:
    assert tables.escape(cell) == written


@pytest.mark.django_db
def test_the_tables_equal_the_standings_and_the_events() -> None:
    made = rich.over()
    rows = [queries.wire_row(row) for row in sight.everything(made.league).standings]
    standings = table("standings")
    assert [(row["player_id"], int(row["points"]), int(row["rank"])) for row in standings] == [
        (row["player_id"], row["points"], row["rank"]) for row in rows
    ]
    assert {row["points_by_correction"] for row in standings if row["player_id"] == "P01"} == {"-2"}
    first = next(row for row in table("matches") if row["match_id"] == "R1M1")
    assert (first["status"], first["winner"], first["corrected_by"]) == ("DRAW", "", "2")
    assert len(table("messages")) == 12
    assert [row["seq"] for row in table("events")] == [str(n) for n in range(1, made.league.event_seq + 1)]
    assert [(row["number"], row["kind"], row["undone_reason"]) for row in table("corrections")] == [
        ("1", "points", ""),
        ("2", "set_result", ""),
        ("3", "void", "it was the right one"),
    ]
    assert [row["display_name"] for row in table("players")][:3] == ["Player 1", "Player 2", "Player 3"]


# The layout of 004 chapter 9 --------------------------------------------------------------------


@pytest.fixture
def shared(tmp_path: Path, db: None) -> Path:
    """The folder SHARED of a league's export."""
    rich.over()
    out = io.BytesIO()
    export_zip.write(League.objects.get(pk="fall"), out, people=True)
    with zipfile.ZipFile(out) as opened:
        assert {info.date_time for info in opened.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert len(set(opened.namelist())) == len(opened.namelist())
        opened.extractall(tmp_path)
    return tmp_path / "SHARED"


@pytest.mark.django_db
def test_an_export_has_the_page_to_share_once_nothing_is_hidden() -> None:
    def page() -> str | None:
        out = io.BytesIO()
        with translation.override("he"):
            export_zip.write(League.objects.get(pk="fall"), out, people=False)
        with zipfile.ZipFile(out) as opened:
            return opened.read("evening.html").decode() if "evening.html" in opened.namelist() else None

    rich.over(frozen=True)
    assert page() is None
    freeze.lift(league_id="fall")
    text = page()
    assert text is not None
    assert ('<html lang="en"' in text, "://" in text, "The evening in figures" in text) == (True, False, True)
    assert [secret for secret in rich.secrets() if secret in text] == []


def test_the_toolkit_of_the_course_reads_the_configuration(shared: Path) -> None:
    loader = ConfigLoader(shared / "config")
    system, league = loader.load_system(), loader.load_league("fall")
    assert (system.default_league_id, system.timeouts.move_timeout_sec, system.retry_policy.max_retries) == (
        "fall",
        30,
        3,
    )
    assert (league.game_type, league.status, league.scoring.win_points) == ("even_odd", "COMPLETED", 3)
    assert loader.get_player_by_id("P02").default_endpoint == f"http://{rich.ADDRESS}2:8101/mcp"
    assert loader.get_referee_by_id("REF01").game_types == ["even_odd"]
    assert loader.get_game("even_odd").rules_module == "league_sdk.rules.even_odd"
    assert loader.load_defaults("player")["move_timeout_sec"] == 30
    assert "registration_code" not in loader.load_defaults("referee")


def test_the_toolkit_of_the_course_reads_the_data(shared: Path) -> None:
    league, data = League.objects.get(), shared / "data"
    view = sight.everything(league)
    standings = StandingsRepository("fall", data).load()
    assert standings["standings"] == queries.standings_rows(view)
    assert (standings["version"], standings["rounds_completed"]) == (league.event_seq, 3)
    rounds = RoundsRepository("fall", data)
    first = rounds.get_round(1)
    assert first is not None and [one["match_id"] for one in first["matches"]] == ["R1M1", "R1M2"]
    matches = MatchRepository("fall", data)
    assert matches.list_matches() == ["R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"]
    match = matches.load("R1M1")
    assert (match["result"]["status"], len(match["transcript"]), match["lifecycle"]["state"]) == ("DRAW", 2, "FINISHED")
    history = PlayerHistoryRepository("P02", data).load()
    row = next(row for row in standings["standings"] if row["player_id"] == "P02")
    assert history["stats"] == {
        "total_matches": 3,
        "wins": row["wins"],
        "losses": row["losses"],
        "draws": row["draws"],
    }


def test_the_logs_of_an_export_are_lines_of_json(shared: Path) -> None:
    files = sorted((shared / "logs").rglob("*.jsonl"))
    assert [file.name for file in files] == [
        *(f"{code}.log.jsonl" for code in ("P01", "P02", "P03", "P04", "REF01")),
        "league.log.jsonl",
    ]
    for file in files:
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        assert lines, file
        assert {"timestamp", "level", "component", "event_type", "details"} <= set(lines[0])


@pytest.mark.django_db
def test_logs_of_agents_have_the_messages_of_the_sites_referees_which_name_agents_by_id_alone() -> None:
    made = make.running_league(players=4)
    match = made.match("R1M1")
    player = match.player_a.code
    lines = [make.entry(0, sender="REF01", recipient=player), make.entry(1, sender=player, recipient="REF01")]
    make.report(match, player, transcript=lines)
    out = io.BytesIO()
    export_zip.write(made.league, out, people=False)
    with zipfile.ZipFile(out) as opened:
        logs = [opened.read(f"SHARED/logs/agents/{code}.log.jsonl").splitlines() for code in (player, "REF01")]
    events = [[json.loads(line)["event_type"] for line in log] for log in logs]
    assert events == [["MESSAGE_RECEIVED", "MESSAGE_SENT"], ["MESSAGE_SENT", "MESSAGE_RECEIVED"]]


def test_every_json_file_has_a_version_and_the_same_time(shared: Path) -> None:
    files = list(shared.rglob("*.json"))
    assert len(files) > 15
    times = {json.loads(file.read_text(encoding="utf-8"))["last_updated"] for file in files}
    assert len(times) == 1
    assert {json.loads(file.read_text(encoding="utf-8"))["schema_version"] for file in files} == {"1.0.0"}


@pytest.mark.django_db
def test_a_league_in_which_nothing_has_happened_yet_is_exported() -> None:
    make.open_league("fall")
    out = io.BytesIO()
    export_zip.write(League.objects.get(), out, people=True)
    assert zipfile.ZipFile(out).testzip() is None
    assert evidence.sheets(League.objects.get()) == []


# Evidence ---------------------------------------------------------------------------------------


def owner_and_player(sheet: evidence.Sheet) -> tuple[str, str]:
    """The person and the player that a sheet is about."""
    return sheet.owner.email if sheet.owner else "", sheet.agent.code if sheet.agent else ""


@pytest.mark.django_db
def test_each_student_has_a_sheet() -> None:
    made = rich.over()
    sheets = {owner_and_player(sheet): sheet for sheet in evidence.sheets(made.league)}
    assert [code for _email, code in sheets] == ["P03", "", "P01", "P04", "P02"]
    assert sheets["absent.geheim@example.org", ""].owner.name == "Absent Geheimnis"
    first = sheets["dana.geheim@example.org", "P01"]
    row = next(row for row in sight.everything(made.league).standings if row.player_id == "P01")
    assert (first.row, first.ready, first.still_to_play) == (row, "ready", 0)
    assert first.checked_at is not None
    assert [match.match_id for match in first.matches] == sorted(match.match_id for match in first.matches)
    assert "".join(sorted(match.letter for match in first.matches)).count("D") == 1
    assert [one.number for one in first.corrections][:1] == [1]
    # P01 and P04 came with one personal code.
    own = {code: [one.opponent_id for one in sheet.matches if one.siblings] for (_mail, code), sheet in sheets.items()}
    assert own == {"P03": [], "": [], "P01": ["P04"], "P04": ["P01"], "P02": []}
    [met] = [one.match_id for one in first.matches if one.siblings]
    assert dict(zip(evidence.COLUMNS, evidence.line(first), strict=True))["against_own_agents"] == met
    assert sheets["noa.geheim@example.org", "P02"].ready == "wrong_answers"
    lost = {code: sheet.causes for (_email, code), sheet in sheets.items() if sheet.causes}
    technical = {row.player_id for row in sight.everything(made.league).standings if row.technical_losses}
    assert set(lost) == technical
    assert [owner_and_player(sheet)[1] for sheet in evidence.sheets(made.league, "P02")] == ["P02"]


@pytest.mark.django_db
def test_the_page_shows_hostile_names_as_text(desk: Client) -> None:
    rich.over()
    page = desk.get(f"{DESK}evidence/").content.decode()
    assert "<script>alert(1)" not in page
    assert "Absent Geheimnis" in page and "late" in page
    assert "http://testserver/leagues/fall/matches/R1M1/" in page
    one = desk.get(f"{DESK}evidence/?player=P02").content.decode()
    assert one.count('class="sheet"') == 1
    assert desk.get(f"{DESK}evidence/?player=P99").status_code == 404
    assert desk.get(f"{DESK}evidence/?player=P%00").status_code == 404


@pytest.mark.django_db
def test_sheets_make_as_many_queries_for_3_players_as_for_300(desk: Client) -> None:
    make.open_league("fall")
    counts = []
    for count, letter in ((3, "P"), (297, "Q")):
        make.insert_players("fall", count, letter=letter)
        with make.counting_queries(counts):
            assert desk.get(f"{DESK}evidence/").status_code == 200
    assert counts[0] == counts[1]


# The desk ---------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_every_link_of_the_page_leads_to_a_file_or_to_sheets(desk: Client) -> None:
    rich.over()
    page = desk.get(DESK).content.decode()
    links = [part.partition('"')[0] for part in page.split('href="')[1:]]
    papers = [link for link in links if link.startswith(DESK) and link != DESK]
    assert len(papers) == 12
    for link in papers:
        answer = desk.get(link)
        assert answer.status_code == 200, link
        if "evidence/" not in link:
            assert content(answer)
            assert "attachment" in answer["Content-Disposition"] and "fall" in answer["Content-Disposition"]
    assert desk.get(f"{DESK}other.csv").status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize(("role", "status"), [("instructor", 200), ("assistant", 403), (None, 403)])
@pytest.mark.parametrize("path", sampled(["", "evidence/", "league.zip", "evidence.csv"]))
def test_exports_need_the_role_of_an_instructor(client: Client, path: str, role: str | None, status: int) -> None:
    league = make.open_league("fall")
    user = User.objects.create_user("grace", is_staff=True)
    if role is not None:
        league.roles.create(user=user, name=role)
    client.force_login(user)
    answer = client.get(DESK + path)
    assert answer.status_code == status
    answer.close()


@pytest.mark.django_db
def test_the_demo_has_neither_papers_nor_notices(desk: Client) -> None:
    opening.create_league(league_id="demo", display_name="Demo", demo=True)
    for path in ("papers/", "papers/league.zip", "papers/evidence/", "notices/"):
        assert desk.get(f"/admin/matches/league/demo/{path}").status_code == 404


# One moment -------------------------------------------------------------------------------------


@pytest.fixture
def _committed(transactional_db: None) -> Iterator[None]:
    yield


def test_an_export_does_not_contain_later_changes_and_does_not_block_them(_committed: None) -> None:
    make.open_league("fall")
    with bundle.read_snapshot():
        before = League.objects.get().event_seq
        other = connection.copy()
        try:
            with other.cursor() as cursor:
                cursor.execute("UPDATE matches_league SET event_seq = event_seq + 1")
        finally:
            other.close()
        assert League.objects.get().event_seq == before
    assert League.objects.get().event_seq == before + 1
    with transaction.atomic():
        assert League.objects.get().event_seq == before + 1


@pytest.mark.skipif(connection.vendor != "postgresql", reason="another database is used: no PostgreSQL")
def test_a_snapshot_may_be_worked_on_for_longer_than_a_transaction_that_locks_rows(_committed: None) -> None:
    """An export of two thousand players was ended after six seconds without a statement."""

    def limit() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SHOW idle_in_transaction_session_timeout")
            return str(cursor.fetchone()[0])

    usual = limit()
    with bundle.read_snapshot():
        assert limit() == "2min" != usual
    assert limit() == usual
