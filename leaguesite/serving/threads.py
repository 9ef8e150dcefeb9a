"""The persistent threads of a web process, each with its own database connection: no kind of work waits for another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

AGENTS, REFEREES, QUERIES, PAGES, DESK, PAPERS = "agents", "referees", "queries", "pages", "desk", "papers"
LOGINS, KNOWN_LOGINS = "logins", "known-logins"


def _thread(name: str) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix=name)


live_thread = _thread("live")
"""Renders live pages, so that no click waits for the sockets of many browsers."""
conductor_thread = _thread("conductor")
shared_thread = _thread("shared")
"""Writes the folder SHARED, so that no match waits for its disk."""
pages_thread = _thread(PAGES)
THREADS = {
    AGENTS: _thread(AGENTS),
    # Calls of referees with the site's key: a heartbeat that waits for others' queries costs a match.
    REFEREES: _thread(REFEREES),
    # Agents' queries whose answer has to be made and grows with a league: no ping waits for them.
    QUERIES: _thread(QUERIES),
    PAGES: pages_thread,
    # The instructor's desk, which waits for nobody's pages.
    DESK: _thread(DESK),
    # Exports and imports, which take many seconds in a large league.
    PAPERS: _thread(PAPERS),
    # Checking a password takes half a second on purpose: no page waits for it, only other logins of unknown browsers.
    LOGINS: _thread(LOGINS),
    # Logins of browsers that have logged in before: they wait for no guesser.
    KNOWN_LOGINS: _thread(KNOWN_LOGINS),
}
"""The threads of requests by name."""
