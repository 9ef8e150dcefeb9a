"""Calls a player that is to be asked outside any league, and listens for its answers by POST."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from league_sdk.conformance.listener import own_address
from league_sdk.conformance.posts import Posts
from league_sdk.conformance.subject import NOBODY, Subject
from league_sdk.conformance.subject_caller import SubjectCaller
from league_sdk.dialects.memory import Memory
from league_sdk.dialects.words import READY
from league_sdk.transport.client import Caller


@asynccontextmanager
async def opened(subject: Subject, client: Caller) -> AsyncIterator[tuple[SubjectCaller, Posts]]:
    """The caller of a player and its mailbox, until the block ends.

    Args:
        subject: the player.
        client: the transport; its policy decides what may be called.

    Raises:
        OSError: this machine cannot listen at the address that the subject names.
    """
    memory = Memory(dialect=subject.dialect, behind_gateway=subject.behind_gateway)
    if subject.ready_in:
        memory.spoken[READY] = subject.ready_in
    caller = SubjectCaller(subject.url, client, memory=memory, overall_s=subject.overall_s)
    posts = Posts(subject.tokens, subject.own_tokens)
    caller.is_overtaken, caller.dials_out = subject.is_overtaken, subject.dials_out
    try:
        caller.hears_posts = await _listening(subject, posts)
        if subject.on_posts is not None:
            subject.on_posts(posts.relayed)
        yield caller, posts
    finally:
        await caller.aclose()
        await posts.stop()


async def _listening(subject: Subject, posts: Posts) -> bool:
    """Listen for answers by POST, at our address as the agent sees it; False if that is impossible or not wanted."""
    host = subject.listen
    if host == NOBODY:
        return False
    try:
        await posts.start(host or await own_address(subject.url))
    except OSError:
        if host:
            raise
        return False
    return True
