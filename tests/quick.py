"""The tests of ``pytest -m quick``: some of every part of torchlint, so that a break of any part shows within a minute.

An entry is a module, or one test in it; of the marked files of a rule, the first alone is taken. A test that takes
more than half a second is not quick, wherever it stands. ``tests/test_quick.py`` holds that every entry names tests,
and that some of them lint a marked file of every rule.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import harness

QUICK = {
    "engine": """test_engine test_following test_following_infos test_project test_project_loaders test_project_names
        test_project_results test_project_steps test_stubs""",
    "syntax and values": """test_flow test_guards test_light test_module_files test_names test_positions
        test_recursion test_systems test_values""",
    "heat": "test_circumstances test_heat test_uses test_reads test_rounds test_test_code",
    "catalogue": """test_catalogue::test_no_function_is_written_down_twice
        test_catalogue::test_what_waits_names_the_place_that_shows_it
        test_catalogue::test_every_kind_of_count_has_its_advice""",
    "prefilters": "test_screening test_text_index",
    "rules": """test_dead_flags test_fused test_registry test_rules
        test_fixtures::test_marked_lines_are_found_and_all_others_are_silent
        test_fixtures::test_fixes_are_what_the_rule_declares""",
    "fixes": "test_fix test_fix_files test_golden test_suppress",
    "configuration": "test_config test_discover test_extend test_globs test_requirements test_select",
    "reports": "test_html test_report test_text_report",
    "server": """test_server
        test_server_evidence::test_a_setting_switches_hints_off
        test_server_kept::test_findings_on_lines_that_are_edited_go
        test_server_kept::test_findings_stay_and_move_while_a_line_is_unfinished""",
    "documents": "test_page_examples",
    "cache": "test_cache",
    "command line": "test_api test_cli test_decode test_python2 test_words",
    "confirmation": "test_answer test_causes test_understood test_verdict_details test_verdicts",
    "recordings": """test_from_trace::test_each_event_of_a_gpu_is_at_the_line_that_caused_it
        test_from_trace::test_an_export_with_stacks_of_python_names_lines
        test_call_order::test_a_call_that_happens_once_around_a_loop_separates_the_rounds
        test_gpu_traces::test_a_copy_without_a_wait_behind_it_was_asynchronous
        test_from_trace::test_what_is_certain_about_a_line_is_not_repeated_as_a_guess""",
}
NOT_QUICK = frozenset(
    """test_cache::test_a_key_that_others_could_know_is_replaced
    test_cache::test_a_truncated_cache_is_replaced
    test_cache::test_forged_findings_cannot_steer_a_terminal
    test_cache::test_whatever_stands_in_an_entry_there_is_no_traceback
    test_cli::test_a_closed_pipe_is_no_traceback
    test_cli::test_two_runs_at_once_on_one_cache_agree_and_leave_it_usable
    test_globs::test_numbers_and_lengths_of_globs_are_limited
    test_globs::test_stars_match_whatever_stands_within_a_part_of_a_path
    test_html::test_large_files_are_shortened_to_the_lines_around_findings_and_say_so
    test_html::test_more_findings_than_fit_are_counted
    test_report::test_any_line_and_any_columns_give_harmless_text
    test_rules::test_the_fix_makes_one_example_of_another
    test_screening::test_no_text_makes_screening_slow
    test_server::test_a_change_in_one_document_changes_the_findings_of_another
    test_server::test_a_change_of_an_extended_file_counts_at_once
    test_server::test_a_client_that_asks_for_findings_gets_them_once
    test_server::test_a_configuration_is_created_to_switch_a_rule_off
    test_server::test_a_rule_is_switched_off_in_the_configuration
    test_server::test_a_wrong_configuration_is_told_once_and_the_last_good_one_is_kept
    test_server::test_errors_and_cancelled_requests_are_answered_and_the_server_lives
    test_server::test_folders_are_added_and_removed
    test_server::test_positions_are_counted_as_the_client_prefers
    test_server::test_settings_of_the_client_apply_when_they_change
    test_suppress::test_comments_are_those_that_python_sees
    test_verdicts::test_an_interval_of_equal_forms_holds_one""".split()
)
ENTRIES = frozenset(entry for entries in QUICK.values() for entry in entries.split())
MODULES = frozenset(entry.partition("::")[0] for entry in ENTRIES)
FIRST_FILES = frozenset(files[0].path for files in harness.HERE.folders.values())


def may_have_quick_tests(path: Path) -> bool:
    """Whether a file must be imported to collect the quick tests; it need not be a module of tests."""
    return not path.name.startswith("test_") or path.stem in MODULES


def entry_of(item: pytest.Item) -> str | None:
    """The entry that makes a test quick."""
    module = item.path.stem
    test = f"{module}::{getattr(item, 'originalname', item.name)}"
    if test in NOT_QUICK or item.get_closest_marker("slow") or "chromium" in getattr(item, "fixturenames", ()):
        return None
    marked = _parameters(item).get("fixture_file")
    if marked and marked.path not in FIRST_FILES:
        return None
    return next((entry for entry in (module, test) if entry in ENTRIES), None)


def _parameters(item: pytest.Item) -> dict[str, Any]:
    callspec = getattr(item, "callspec", None)
    return callspec.params if callspec else {}
