"""The kept threads of a web process, each with a database connection of its own: no kind of work waits for another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

AGENTS, REFEREES, QUERIES, PAGES, DESK, PAPERS = "agents", "referees", "queries", "pages", "desk", "papers"
LOGINS, KNOWN_LOGINS = "logins", "known-logins"


def _thread(name: str) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix=name)


live_thread = _thread("live")
"""For what browsers' sockets show: many of them keep no click waiting."""
conductor_thread = _thread("conductor")
pages_thread = _thread(PAGES)
THREADS = {
    AGENTS: _thread(AGENTS),
    # For calls of referees that have the site's key: a heartbeat that waits for others' queries costs a match.
    REFEREES: _thread(REFEREES),
    # For agents' queries whose answer has to be made: it grows with a league, and a ping waits for none of them.
    QUERIES: _thread(QUERIES),
    PAGES: pages_thread,
    # For the instructor, who waits for nobody's pages.
    DESK: _thread(DESK),
    # For what takes many seconds in a large league, and must keep no page waiting.
    PAPERS: _thread(PAPERS),
    # To look at a password takes half a second on purpose: guessers wait for each other, not the room for them.
    LOGINS: _thread(LOGINS),
    # The same for browsers that have logged in before: they wait for no guesser either.
    KNOWN_LOGINS: _thread(KNOWN_LOGINS),
}
"""The threads of requests, by the kind of work."""
