"""HAProxy with the shipped files, on a free port, before two web processes of this machine."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.servers import missing
from tests.paths import ROOT

FILES = ROOT / "deploy" / "haproxy"


@contextmanager
def haproxy(folder: Path, port: int, webs: Sequence[int]) -> Iterator[subprocess.Popen[bytes]]:
    """Run it until the block ends; its log is ``haproxy.log``.

    Args:
        folder: for its files and its log.
        port: where it listens at 127.0.0.1.
        webs: the two ports of the web processes.
    """
    program = shutil.which("haproxy", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    if program is None:
        missing("haproxy is not installed (apt-get install haproxy)")
    changes = {":80\n": f"127.0.0.1:{port}\n", "127.0.0.1:8000": f"127.0.0.1:{webs[0]}"}
    changes["127.0.0.1:8010"] = f"127.0.0.1:{webs[1]}"
    for name in ("leaguesite.cfg", "servers-local.cfg"):
        text = (FILES / name).read_text(encoding="utf-8")
        for old, new in changes.items():
            text = text.replace(old, new)
        (folder / name).write_text(text, encoding="utf-8")
    command = [str(program), "-db", "-f", str(folder / "leaguesite.cfg"), "-f", str(folder / "servers-local.cfg")]
    with (folder / "haproxy.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
