"""Tests that show again what another one shows, with other parameters: they are long.

The rule: an entry names the cases that every run leaves out; at least one case of the same test stays. The ids of the
cases are patterns as the shell has them. Whole tests of which another one shows the same stand in `tests/shown.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import pytest
from tests.shown import SHOWN

REPEATS: Mapping[str, Sequence[str]] = {
    # A complete step is walked to its end where it is killed, and in one process by integration/test_flow_plays.
    # Loops and deviations come through the same nodes once more before they end like a complete step.
    "test_flow_seedgraph.test_the_graph_comes_to_its_end_without_a_terminal": (
        "complete",
        "failed",
        "nobody",
        "loops",
        "deviation",
        "refused",
    ),
    "test_interrupt.test_a_ctrl_c_after_the_run_is_over_does_not_change_how_it_ended": ("False-*",),
    "test_interrupt.test_a_signal_stops_the_driver_gives_its_steps_back_and_ends_its_agents": ("1", "15"),
    # Of the scenarios that take longest one side of each write is killed at, of further ones every other write.
    "test_agents_of_steps.test_a_run_in_trouble_ends_the_same_wherever_the_process_dies": ("*-before",),
    "test_crash_enumeration.test_a_run_that_asks_ends_the_same_wherever_the_process_dies": ("*[02468]-*",),
    "test_crash_enumeration.test_a_run_that_was_paused_ends_the_same_wherever_the_process_dies": ("*[02468]-*",),
    "test_crash_enumeration.test_a_parallel_run_ends_the_same_wherever_the_process_dies": ("*[02468]-*",),
    # Half of the pairs of an old and a new state: a write touches the same files in the same order for all.
    "test_implement_files.test_a_write_that_dies_at_any_file_leaves_the_old_marks_or_the_new": ("old[1357]-*",),
    # test_kills counts kills of what a step starts; a flow starts the same things by the same code.
    # Which class a failure has is a unit test; both classes take the same way.
    "test_both_kinds.test_what_a_person_has_to_see_to_blocks_the_run_and_a_retry_goes_on": (
        "plan-killed-*",
        "*-billing-*",
    ),
    # Of a plan, one of test_gates, test_detach, test_agents_of_steps, test_many_drivers, test_record and test_checks
    # shows the same; the flow stays.
    "test_both_kinds.test_at_a_terminal_a_question_answered_elsewhere_is_not_waited_for": ("plan",),
    "test_both_kinds.test_what_is_known_of_a_run_is_told_without_naming_a_place": ("plan",),
    "test_both_kinds.test_a_parked_run_goes_on_with_the_configuration_it_began_with": ("plan",),
    "test_both_kinds.test_what_is_tried_again_takes_the_present_configuration_and_says_what_differs": ("plan",),
    "test_both_kinds.test_at_a_terminal_a_closed_question_names_its_options_and_takes_a_comment": ("plan",),
    "test_both_kinds.test_after_a_no_to_more_money_the_run_is_blocked_and_a_retry_asks_again": ("plan",),
    "test_both_kinds.test_a_detached_run_is_driven_in_the_background": ("plan",),
    "test_both_kinds.test_somebody_is_told_of_a_question_and_only_of_a_question": ("plan",),
    "test_both_kinds.test_a_quota_far_away_parks_the_run_and_a_retry_does_not_wait_for_it": ("plan",),
    "test_both_kinds.test_an_agent_s_question_is_answered_from_elsewhere_and_reaches_it": ("plan",),
    "test_both_kinds.test_a_second_driver_takes_over_when_the_first_is_killed": ("plan",),
    "test_both_kinds.test_a_second_driver_of_a_live_run_ends_with_what_the_first_comes_to": ("plan",),
    "test_both_kinds.test_the_run_counts_what_its_agents_use": ("plan",),
    "test_both_kinds.test_a_recorded_run_is_played_without_the_agent": ("plan",),
    "test_both_kinds.test_an_agent_that_has_spent_what_it_was_given_waits_for_money_and_not_for_a_quota": ("plan",),
    "test_both_kinds.test_a_command_that_is_missing_blocks_the_run_and_sends_nobody_back_to_work": ("plan",),
    "test_both_kinds.test_a_check_that_is_killed_three_times_in_a_row_blocks_the_run": ("plan",),
    "test_kills.test_what_is_killed_three_times_blocks_its_step_and_a_resume_takes_it_up": (
        "agent",
        "git",
        "supervisor",
    ),
    # Marks in files are compared in test_clean_plans for each format, writing back in the contract of plan files.
    "test_formats.test_a_run_is_killed_explained_and_resumed_in_every_format": (
        "phased",
        "implement",
        "waves",
        "speckit",
    ),
    "test_formats.test_a_step_that_stays_wrong_is_blocked_in_the_plans_own_words": (
        "phased",
        "waves",
        "implement",
        "speckit",
    ),
    "test_clean_plans.test_a_plan_is_clean_before_on_the_way_and_after_a_run_with_a_fix_a_question_and_a_skip": (
        "implement, *",
        "linear",
        "maestro",
        "phased",
        "waves",
    ),
    # The ends of lines and the mark at the beginning of a file are tried with all samples for reading, once each.
    "test_samples.test_every_status_is_read_back_and_only_marks_change": ("*-\\r\\n",),
    # The same comparison of terms, with another name.
    "test_many_drivers.test_a_run_on_other_terms_than_the_live_one_is_refused_and_told_the_difference": ("--a*",),
    "test_first_steps.test_no_colours_where_no_terminal_is": ("command[1234]",),
    "test_run.test_context_reaches_every_prompt": ("text",),
    "test_leftovers.test_the_worktree_of_a_run_that_was_closed_undriven_goes_and_its_work_is_kept": ("doctor", "gc"),
    "test_streams.test_a_run_works_with_closed_streams": ("<&-", ">&-"),
    "test_plan_nodes.test_a_plan_is_healed_once_wherever_the_process_dies": ("before",),
    "test_run_walks.test_a_walk_of_the_run_ends_the_same_wherever_the_process_dies": ("command-before", "checks-*"),
    "test_permissions.test_a_tool_is_used_in_the_next_attempt_if_a_person_said_yes": ("no, never-no",),
    "test_two_starts.test_processes_that_start_together_share_one_run": ("3-extra1",),
    "test_format_crashes.test_a_run_that_is_struck_ends_with_the_bytes_of_one_that_is_not": ("kiro", "openspec"),
    "test_flow_worktree_kills.test_the_work_is_delivered_once_wherever_the_process_dies": ("9-*", "10-*", "11-*"),
    # integration/test_merge_crashes kills at every step of a merge; which forge takes which program is in test_issue.
    "test_do.test_a_merge_that_is_killed_with_its_git_leaves_nothing_broken": ("resume-*",),
    "test_do.test_an_issue_is_read_from_its_forge_and_quoted": ("glab-*", "tea-*"),
    "test_introduction.test_as_many_steps_are_proved_as_was_said": ("kiro", "checklist", "taskmaster"),
    "test_introduction.test_what_a_criterion_says_is_run_is_proposed_for_the_step_that_ends_it": ("kiro", "openspec"),
    # How it was started matters little to a file of the run that says who may do what; the barest way stays.
    "test_inside.test_what_a_run_has_started_can_only_look": ("agent--*", "check-*"),
    "test_terminal.test_a_question_of_a_flow_may_be_left_for_later": ("C-d",),
    "test_flow_run.test_the_prompt_is_text_a_file_or_standard_input": ("do it-*", "@ask*"),
    # test_lies weakens an assertion, too.
    "test_judges.test_tests_that_are_part_of_a_step_may_change_but_not_vanish_unseen": ("weakened",),
    # The bytes of plans are compared in the contract of plan files.
    "test_plan_files_as_truth.test_every_other_byte_stays": ("bom", "no newline*"),
    # The scheduler decides in one process: unit/test_schedule has all of them.
    "test_order.test_nothing_behind_a_blocked_step_starts_across_a_step_that_is_not_run": ("other*-done", "here-done"),
    "test_provide.test_agents_and_checks_find_what_is_provided_and_the_checkout_stays_as_it_is": ("off",),
    "test_disks.test_a_run_that_cannot_be_started_says_why": ("read-only",),
    "test_lost_landings.test_it_is_recorded_before_what_a_person_wants": ("cancel", "skip"),
    "test_figures.test_a_reader_that_goes_away_does_not_stop_the_run": ("more0",),
    "test_disks.test_a_disk_that_fails_in_mid_run_is_a_reason_and_a_resume_continues": ("*-read-only",),
    # Detection of each kind of project is a unit test; what is detected is run in the same way.
    "test_do.test_one_command_in_a_fresh_repository_lands_what_its_tests_accept": (
        "npm-*",
        "go-*",
        "uv-*",
        "python3-*-python3 -m unittest*",
        "python3-*-python3 -m pytest",
    ),
    # What stands in the way of a merge: two of the four, and what git refuses is told in the same words.
    "test_do.test_what_cannot_be_merged_is_left_to_a_person": ("in the way", "switched"),
    "test_record.test_a_recorded_flow_played_elsewhere_does_the_same": ("sub",),
    "test_run.test_a_run_lands_every_step_once_with_its_trailers_and_leaves_the_checkout_alone": ("parallel",),
    "test_run_branch.test_what_an_agent_or_a_check_commits_on_the_branch_is_asked_about": ("check",),
    "test_parts_and_endings.test_what_is_typed_wrong_is_told_before_what_has_to_be_merged": ("typed1-*",),
    "test_own_word.test_a_step_whose_agent_names_a_blocker_waits_for_a_person_although_its_checks_would_pass": (
        "critical-*",
    ),
    "test_own_word.test_of_an_agent_that_keeps_its_word_while_its_checks_pass_a_person_decides": ("skip-*",),
    "test_own_word.test_of_an_attempt_that_changed_nothing_a_person_says_what_it_means": ("skip-*",),
    # Both lies are named by default; that a survivor lowers the level is the same for both.
    "test_mutants.test_work_that_knows_what_its_tests_ask_is_named_with_the_line": ("always-equal*",),
    "test_mutants.test_where_mutants_are_a_gate_it_is_kept_and_nobody_is_asked": ("always-equal*",),
    # The nine lies and the twelve honest variations stay; these show the same look once more.
    "test_lies.test_a_lie_is_never_proved": (
        "script of the target*",
        "exits at import, pytest",
        "makefile that*",
        "part of a script*",
        "plugin of*",
        "compiled module*",
        "link to*",
        "reports forged, and*",
        "test renamed away",
    ),
    "test_lies.test_honest_work_lands_without_a_question": (
        "writes the program*",
        "adds a target*",
        "builds what its check*",
        "fixes what*",
        "adds to *",
    ),
    # How patterns are matched is tried in core/products; each way to an ignored file once with a run.
    "test_products.test_an_ignored_file_that_the_plan_asks_for_is_not_proved": ("build/", "build/[*].js"),
    "test_products.test_an_ignored_file_that_the_plan_asks_for_is_found_wherever_it_lies": (
        "target*",
        "[*].log*",
        "gen/?nreal-gen/*",
        "/link-*",
        "real*",
    ),
    "test_products.test_a_product_that_is_ignored_is_not_proved": ("by_exclude_file", "by_own_configuration"),
    "test_products.test_an_ignored_file_that_setup_made_is_missed_if_the_agent_wrote_it": ("cat *",),
    "test_products.test_a_file_that_only_a_check_makes_is_missed": ("True",),
}
"""By file and test: the ids of the cases that are left out."""


def mark_repeats(items: Iterable[pytest.Item]) -> None:
    """Mark as long what shows again what another test, or another case of the same one, shows."""
    for item in items:
        if isinstance(item, pytest.Function) and (name_test(item) in SHOWN or is_repeat(item)):
            item.add_marker(pytest.mark.long)


def is_repeat(item: pytest.Function) -> bool:
    """Whether every run leaves this case out."""
    callspec = getattr(item, "callspec", None)
    patterns = REPEATS.get(name_test(item), ())
    return callspec is not None and any(fnmatchcase(callspec.id, pattern) for pattern in patterns)


def name_test(item: pytest.Function) -> str:
    """The file of a test and its name without parameters."""
    return f"{item.path.stem}.{item.originalname}"
