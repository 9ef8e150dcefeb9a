"""A process raises its limit of open files as far as its system allows, but not above 65,536."""

from __future__ import annotations

import resource

import pytest

from league_sdk.open_files import raise_file_limit


@pytest.mark.parametrize(
    ("limits", "expected"),
    [((1024, 4096), 4096), ((1024, 10**6), 65_536), ((1024, resource.RLIM_INFINITY), 65_536), ((10**6, 10**6), 10**6)],
)
def test_a_process_raises_its_file_limit_as_far_as_allowed_up_to_65536(limits: tuple[int, int], expected: int) -> None:
    states = [limits]
    raised = raise_file_limit(read=lambda _: states[-1], write=lambda _, new: states.append(new))
    assert (raised, states[-1]) == (expected, (expected, limits[1]))


def test_a_process_keeps_its_file_limit_when_the_system_refuses_more() -> None:
    def refuse(*_: object) -> None:
        raise ValueError("current limit exceeds maximum limit")

    assert raise_file_limit(read=lambda _: (256, resource.RLIM_INFINITY), write=refuse) == 256
