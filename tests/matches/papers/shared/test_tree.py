"""The folder SHARED as files: logs that grow within bounds, links of others, and a disk that refuses."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from matches.papers.shared import tree as tree_module
from matches.papers.shared.tree import MIN_FREE_BYTES, Tree, Unwritable, lined

LOG = "logs/agents/P01.log.jsonl"


def lines(root: Path, name: str = LOG) -> list[str]:
    return (root / name).read_text(encoding="utf-8").splitlines()


def test_a_full_log_is_renamed_and_a_limited_number_is_kept(tmp_path: Path) -> None:
    tree = Tree(tmp_path, max_log_bytes=30)
    for number in range(20):
        with tree.writing():
            tree.append(LOG, [f"{number:09}"])
            tree.save({})
    assert lines(tmp_path) == ["000000018", "000000019"]
    assert lines(tmp_path, f"{LOG}.1") == ["000000015", "000000016", "000000017"]
    assert sorted(path.name for path in (tmp_path / "logs/agents").iterdir()) == [
        "P01.log.jsonl",
        *(f"P01.log.jsonl.{number}" for number in range(1, 5)),
    ]


def test_the_same_lines_at_once_make_the_same_logs(tmp_path: Path) -> None:
    step, whole = Tree(tmp_path / "step", max_log_bytes=30), Tree(tmp_path / "whole", max_log_bytes=30)
    for number in range(20):
        with step.writing():
            step.append(LOG, [f"{number:09}"])
            step.save({})
    with whole.writing():
        whole.append(LOG, [f"{number:09}" for number in range(20)])
        whole.save({})
    for name in (LOG, *(f"{LOG}.{number}" for number in range(1, 5))):
        assert lines(step.root, name) == lines(whole.root, name)


def test_a_crash_after_a_log_was_renamed_has_everything_written_anew(tmp_path: Path) -> None:
    tree = Tree(tmp_path, max_log_bytes=30)
    with tree.writing():
        tree.append(LOG, ["a" * 20])
        tree.save({"fall": {"upto": 1}})
    with pytest.raises(KeyboardInterrupt), tree.writing():
        tree.append(LOG, ["b" * 20])
        raise KeyboardInterrupt
    again = Tree(tmp_path, max_log_bytes=30)
    with again.writing():
        assert again.written == {}
        assert not (tmp_path / LOG).exists()


@pytest.mark.parametrize("path", ["data/../x.json", "/etc/x.json", "data//x.json", "data/.x", "data/a b", "data/x\n"])
def test_a_path_stays_within_the_folder(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="no path of a file here"):
        Tree(tmp_path / "SHARED").put(path, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("link", ["data", "data/leagues", "data/leagues/fall"])
def test_nothing_is_written_through_a_folder_that_is_a_link(tmp_path: Path, link: str) -> None:
    root, elsewhere = tmp_path / "SHARED", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(elsewhere)
    tree = Tree(root)
    with tree.writing(), pytest.raises(Unwritable, match="is a link"):
        tree.put("data/leagues/fall/standings.json", {})
    with tree.writing(), pytest.raises(Unwritable, match="is a link"):
        tree.keep_only("data/leagues/fall", ())
    assert list(elsewhere.iterdir()) == []


def test_a_file_that_is_a_link_is_replaced_and_a_log_that_is_one_refused(tmp_path: Path) -> None:
    root, victim = tmp_path / "SHARED", tmp_path / "victim"
    victim.write_text("mine")
    (root / "logs/agents").mkdir(parents=True)
    (root / "table.json").symlink_to(victim)
    tree = Tree(root)
    with tree.writing():
        tree.put("table.json", {})
        (root / "logs/agents").mkdir(parents=True)
        (root / LOG).symlink_to(victim)
        with pytest.raises(OSError, match="symbolic links"):
            tree.append(LOG, ["line"])
    assert (victim.read_text(), (root / "table.json").is_symlink()) == ("mine", False)


def test_a_log_that_became_a_link_is_written_anew(tmp_path: Path) -> None:
    root, victim = tmp_path / "SHARED", tmp_path / "victim"
    victim.write_text("m" * 100)
    with Tree(root).writing():
        pass
    tree = Tree(root)
    with tree.writing():
        tree.append(LOG, ["a line of twenty bytes or more"])
        tree.save({"fall": {"upto": 1}})
    (root / LOG).unlink()
    (root / LOG).symlink_to(victim)
    tree = Tree(root)
    with tree.writing():
        assert (tree.written, (root / LOG).is_symlink()) == ({}, False)
    assert victim.read_text() == "m" * 100


@pytest.mark.parametrize("name", [".lock", ".written.json"])
def test_the_sites_own_files_are_not_read_or_written_through_links(tmp_path: Path, name: str) -> None:
    root, victim = tmp_path / "SHARED", tmp_path / "victim"
    victim.write_text(json.dumps({"format": 1, "whole": True, "written": {"fall": {}}, "logs": {}}))
    before = victim.read_text()
    root.mkdir()
    (root / name).symlink_to(victim)
    tree = Tree(root)
    try:
        with tree.writing():
            assert tree.written == {}
    except OSError as error:
        assert error.errno == errno.ELOOP
    assert victim.read_text() == before


def test_the_last_room_on_the_disk_is_left_to_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(tree_module.shutil, "disk_usage", lambda path: usage._replace(free=MIN_FREE_BYTES - 1))
    with pytest.raises(Unwritable, match="only 99 MiB of the disk are free"), Tree(tmp_path / "SHARED").writing():
        pass


def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(tmp_path)
    with tree.writing():
        tree.put("table.json", {"n": 1})

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space"), tree.writing():
            tree.put("table.json", {"n": 2})
    assert json.loads((tmp_path / "table.json").read_text()) == {"n": 1}
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


def test_files_are_for_the_sites_user_only(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "SHARED")
    with tree.writing():
        tree.put("data/table.json", {})
        tree.append(LOG, ["line"])
        tree.save({})
    files = [path for path in tree.root.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


@pytest.mark.parametrize("content", [{}, {"a": []}, {"a": [1, {"b": "ש"}], "c": None, "d": {"e": [1]}}])
def test_lined_json_is_json(content: dict[str, object]) -> None:
    assert json.loads(lined(content)) == content
