"""The states of leagues and matches. tests/test_docs_protocol.py compares those of agents with docs/protocol.md."""

from league_sdk.protocol.states import IN_PLAY, LEAGUE_ARROWS


def test_the_transitions_of_a_league() -> None:
    assert {str(state): sorted(targets) for state, targets in LEAGUE_ARROWS.items()} == {
        "REGISTRATION": ["SCHEDULED", "STOPPED"],
        "SCHEDULED": ["RUNNING", "STOPPED"],
        "RUNNING": ["COMPLETED", "STOPPED"],
        "COMPLETED": ["STOPPED"],
        "STOPPED": [],
    }


def test_the_states_of_a_match_in_play_are_in_their_order() -> None:
    names = ["ASSIGNED", "WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER"]
    assert [str(state) for state in IN_PLAY] == names
