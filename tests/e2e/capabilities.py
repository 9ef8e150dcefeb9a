"""The one end-to-end test of each capability that `make test` runs; all others are ``long`` and run in ``.ci/run``.

A new capability gets a line here; further tests of a listed capability are marked ``long``. ``conftest.py`` refuses
any end-to-end test that is neither listed here nor marked.
"""

from __future__ import annotations

CAPABILITIES = {
    "an instructor runs a league from the desk": "test_desk.py::test_an_instructor_runs_a_round_from_the_desk",
    "corrections": "test_corrections.py::test_an_instructor_sets_a_result_by_hand_and_undoes_it",
    "the check of an agent": "test_check_page.py::test_a_player_passes_the_check_and_a_wrong_agent_is_told_why",
    "players dial out": "test_dial_out.py::test_a_league_of_players_that_dial_out",
    "the bridge": "test_bridge.py::test_strict_players_play_a_league_through_the_bridge_of_the_starter_kit",
    "agents of other dialects are understood": (
        "test_dialects.py::test_agents_of_four_dialects_are_played_without_a_fault"
    ),
    "freezing and unveiling": "test_finale.py::test_an_evening_ends_with_an_unveiling_and_a_page_to_share",
    "a killed process": "test_sidecar.py::test_a_board_goes_on_when_its_sidecar_is_killed_and_another_one_takes_over",
    "series, archive and deletion": "test_season.py::test_two_evenings_have_one_table_and_what_is_deleted_is_gone",
    "players of the SDK play a game of moves": (
        "test_games.py::test_a_league_of_sdk_players_from_registration_to_the_end"
    ),
    "a student's referee": (
        "test_foreign_referee.py::test_a_referee_that_is_a_client_of_mcp_and_has_no_port_judges_alone"
    ),
    "students' players register and play a league": "test_league.py::test_four_chapter_eight_players_play_a_league",
    "tunnels": "test_tunnels.py::test_behind_a_tunnel_links_logins_and_live_pages_are_right",
    "players by MCP": "test_mcp_player.py::test_a_league_of_players_that_are_clients_of_mcp",
    "the page of a match": "test_match_page.py::test_the_page_of_a_match_says_why_a_point_was_lost",
    "roles": "test_roles_journey.py::test_an_assistant_sees_the_desk_only_while_having_the_role",
    "several agents are dealt with at once": "test_ticked.py::test_revoking_tokens_of_ticked_agents_asks_first",
    "practice": "test_practice.py::test_agents_practise_while_a_league_is_played_and_nothing_of_it_counts",
    "the replay of a league": "test_replay.py::test_a_league_is_replayed_from_its_first_event_to_the_end",
    "joining with the starter kit, on a phone": "test_join_page.py::test_a_student_joins_a_league_from_its_join_page",
    "late and repeated calls": "test_late_clicks.py::test_twenty_calls_at_once_start_one_round",
    "the page of a player": "test_player_page.py::test_the_page_of_a_player_fills_as_it_plays",
    "my agent": "test_my_agent.py::test_a_student_sees_a_wrong_answer_mends_the_agent_and_sends_the_request_again",
    "the live board and its policy": "test_policy.py::test_the_board_is_live_and_the_policy_blocks_injected_scripts",
    "the proof of a draw": "test_draw_check.py::test_every_step_of_a_true_draw_is_shown",
    "the projector": "test_screen.py::test_the_screen_goes_from_readiness_wall_to_champion_by_itself",
    "upgrades": "test_upgrade.py::test_the_new_version_finishes_a_league_that_was_in_mid_round",
    "a referee as a server of MCP": (
        "test_mcp_referee.py::test_players_learn_the_secrets_of_their_match_by_mcp_only_after_its_end"
    ),
}
"""Each capability of the site and its test; of a parametrized test one variant. The longest tests come first, so that
no worker begins one when the others have finished."""
