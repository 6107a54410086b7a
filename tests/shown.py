"""Tests of which a cheaper one shows the same: they are long.

The rule: an entry names the test that every run leaves out and one that stays and shows its behaviour, mostly in one
process or with fewer of them. What only the longer one shows is how the parts are put together, which others of its
file still show.
"""

from __future__ import annotations

from collections.abc import Mapping

FAKES = "test_driver_on_fakes."
STEPS = "test_agents_of_steps."
DROPPED = (
    "test_checks.test_what_a_check_drops_is_not_landed_and_is_named_once_and_a_check_that_changes_files_proves_nothing"
)
DETACHED = "test_both_kinds.test_a_detached_run_is_driven_in_the_background"
RECOVERY = "test_step_flows.test_without_recovery_a_killed_walk_does_not_come_back"

SHOWN: Mapping[str, str] = {
    # That a test notices what it is to notice is shown with one enumeration of crashes.
    "test_crash_enumeration.test_without_recovery_a_killed_run_does_not_come_back": RECOVERY,
    "test_kill_and_resume.test_without_recovery_a_run_killed_inside_an_attempt_never_ends_well": RECOVERY,
    "test_frozen_owner.test_without_fencing_a_former_owner_that_wakes_after_the_end_writes_on_and_breaks_down": (
        RECOVERY
    ),
    "test_frozen_owner.test_without_fencing_a_former_owner_that_is_stopped_breaks_the_work_of_its_successor": RECOVERY,
    # Kills: each write of a run is killed at in one process, real processes are killed at random by `make soak-short`.
    "test_kill_and_resume.test_a_run_killed_at_random_moments_ends_as_if_it_had_not_been": (
        "test_crash_enumeration.test_a_sequential_run_ends_the_same_wherever_the_process_dies"
    ),
    "test_kill_and_resume.test_agents_that_lost_driver_and_supervisor_are_swept_by_a_resume": (
        "test_frozen_driver.test_an_agent_whose_driver_and_supervisor_are_gone_is_found_by_its_mark"
    ),
    "test_git_workspaces.test_a_process_killed_at_random_and_started_again_lands_every_step_exactly_once": (
        "test_crash_enumeration.test_a_sequential_run_ends_the_same_wherever_the_process_dies"
    ),
    "test_frozen_owner.test_an_owner_frozen_inside_a_transaction_is_killed_and_nothing_of_it_is_kept": (
        "test_frozen_driver.test_a_driver_frozen_in_a_transaction_blocks_the_store_only_until_it_is_evicted"
    ),
    "test_frozen_owner.test_a_former_owner_that_is_stopped_cannot_give_back_the_step_of_its_successor": (
        "test_frozen_owner.test_a_former_owner_that_wakes_after_the_end_is_refused_and_changes_nothing"
    ),
    "test_frozen_owner.test_a_frozen_owner_is_killed_with_its_writing_agent_and_its_step_taken_over": (
        "test_frozen_driver.test_a_frozen_driver_is_killed_with_the_agent_that_keeps_writing"
    ),
    "test_do.test_a_driver_that_is_killed_is_resumed_and_lands_once": (
        "test_do.test_what_was_interrupted_is_merged_by_the_resume"
    ),
    "test_verify_places.test_a_driver_that_is_killed_in_a_run_on_the_base_leaves_nothing": (
        "test_verify_places.test_a_driver_that_is_killed_in_a_check_leaves_its_place_to_the_next_one"
    ),
    "test_flow_agents.test_a_question_survives_a_kill": (
        "test_flow_agents.test_a_question_is_asked_once_and_its_answer_kept_wherever_the_process_dies"
    ),
    "test_run_walks.test_a_walk_that_is_killed_in_the_middle_is_walked_on": (
        "test_run_walks.test_a_dead_drivers_walk_is_taken_over_in_its_place"
    ),
    "test_secrets.test_what_a_killed_driver_of_a_flow_left_is_redacted_when_it_is_taken_up_again": (
        "test_secrets.test_what_a_killed_driver_left_is_redacted_when_the_step_is_taken_up_again"
    ),
    "test_record_pauses.test_what_a_killed_agent_left_in_the_folder_of_a_flow_is_recorded_with_the_work_done_again": (
        "test_record_pauses.test_a_run_killed_at_work_is_recorded_on_by_whoever_resumes_it"
    ),
    "test_record_pauses.test_a_takeover_after_a_kill_is_told_in_the_rule_that_was_there": (
        "test_record.test_work_that_another_agent_took_over_is_played_by_the_script_alone"
    ),
    # Edits of a plan, of the branch and of claims: the same driver, on fakes.
    "test_plan_files_as_truth.test_an_edit_of_a_step_in_work_is_asked_about": (
        FAKES + "test_an_edit_of_a_step_in_work_goes_to_a_gate"
    ),
    "test_plan_files_as_truth.test_an_edit_of_a_waiting_step_counts": FAKES
    + "test_an_edit_of_a_step_not_in_work_counts",
    "test_plan_files_as_truth.test_an_edit_that_breaks_the_plan_does_not_stop_the_run": (
        FAKES + "test_an_edit_that_breaks_the_plan_is_complained_of_once_and_does_not_stop_the_rest"
    ),
    "test_plan_files_as_truth.test_an_added_step_is_run_and_a_removed_one_is_not": (
        FAKES + "test_a_step_added_in_mid_run_is_done_too"
    ),
    "test_plan_files_as_truth.test_a_step_marked_done_by_hand_while_it_waits_is_declared": (
        FAKES + "test_a_step_declared_done_by_hand_in_mid_run_is_not_driven"
    ),
    "test_plan_files_as_truth.test_a_claim_that_gets_stale_while_a_run_waits_is_taken_over": (
        FAKES + "test_a_claim_that_somebody_else_writes_first_is_respected_until_it_is_stale"
    ),
    "test_plan_files_as_truth.test_a_step_that_waits_for_an_answer_says_for_which": (
        FAKES + "test_a_parked_step_says_in_its_file_what_it_waits_for"
    ),
    "test_run_branch.test_a_deleted_branch_is_restored": (
        FAKES + "test_a_branch_that_is_deleted_in_mid_run_is_restored_and_that_is_told"
    ),
    "test_run_branch.test_what_a_person_commits_while_nothing_is_at_work_is_named_and_becomes_the_head": (
        FAKES + "test_what_a_person_commits_while_nothing_is_at_work_becomes_the_head_and_is_named"
    ),
    "test_run_branch.test_a_commit_while_the_run_waits_for_an_approval_is_named_and_becomes_the_head": (
        FAKES + "test_what_a_person_commits_while_the_run_is_parked_becomes_the_head_and_is_named"
    ),
    "test_run_branch.test_what_an_agent_commits_is_asked_about_if_the_driver_dies_as_soon_as_its_step_failed": (
        FAKES + "test_what_is_committed_after_a_driver_died_at_work_is_asked_about"
    ),
    "test_run.test_what_passes_by_itself_is_waited_for_and_uses_up_no_fix": (
        FAKES + "test_a_transient_failure_waits_by_the_clock_and_is_tried_again"
    ),
    "test_gates.test_a_revision_reaches_the_prompt_and_is_asked_about_again": (
        FAKES + "test_what_a_person_wants_revised_reaches_the_agent"
    ),
    "test_parts_and_endings.test_cancel_stops_a_live_run_and_its_agent": (
        FAKES + "test_cancel_stops_agents_gives_steps_back_and_ends_the_run"
    ),
    # Agents, quotas and money: the same driver in one process.
    "test_agents_of_steps.test_a_quota_that_is_near_is_waited_for": (
        STEPS + "test_a_step_out_of_quota_waits_for_the_reset_and_goes_on"
    ),
    "test_agents_of_steps.test_a_quota_that_is_far_away_parks_the_run_and_says_until_when": (
        STEPS + "test_a_run_that_could_only_wait_long_for_a_quota_parks_and_is_resumed_later"
    ),
    "test_agents_of_steps.test_another_agent_takes_over_and_the_costs_are_told_apart": (
        STEPS + "test_the_next_agent_takes_over_and_no_fix_is_used_up"
    ),
    "test_flow_agents.test_a_quota_that_is_far_away_parks_the_flow_and_says_until_when": (
        "test_flow_agents.test_a_quota_that_is_far_away_parks_the_flow_until_then"
    ),
    "test_flow_agents.test_a_node_of_a_loop_goes_on_with_its_session_where_it_asks_for_that": (
        "test_flow_agents.test_a_node_visited_again_goes_on_with_its_session_if_it_asks_for_that"
    ),
    "test_figures.test_an_interrupted_attempt_has_cost_what_its_agent_had_used_and_the_next_adds_to_it": (
        "test_figures.test_an_attempt_that_is_cut_short_costs_what_its_agent_had_used"
    ),
    "test_figures.test_the_cost_of_a_replay_is_marked": (
        "test_flow_figures.test_what_a_recording_tells_of_its_cost_is_marked"
    ),
    # A task of `do` is a run of one step: what any run does is shown with plans.
    "test_do.test_it_can_be_driven_in_the_background": DETACHED,
    "test_do.test_a_blocked_task_is_retried_as_a_step_of_a_plan_is": (
        "test_run.test_a_blocked_run_is_continued_by_retry"
    ),
    "test_do.test_a_failing_test_goes_back_to_the_agent": (
        "test_run.test_a_failing_check_goes_back_with_its_output_until_it_passes"
    ),
    "test_do.test_commands_that_the_repository_brings_are_asked_about_where_that_is_set": (
        "test_trust.test_where_trust_is_ask_nothing_runs_before_a_person_has_accepted"
    ),
    # A terminal costs a start of Python and a tmux: each question is typed once, its texts and answers are in process.
    "test_terminal.test_the_mode_is_asked_for_with_its_recommendation": (
        "test_terminal.test_the_mode_question_names_steps_that_own_the_same_files"
    ),
    "test_terminal.test_the_mode_is_not_asked_for_when_one_step_is_left": (
        "test_terminal.test_a_gate_is_asked_and_answered_by_typing"
    ),
    "test_terminal.test_a_gate_may_be_left_for_later": "test_terminal.test_a_question_of_a_flow_may_be_left_for_later",
    "test_terminal.test_ctrl_c_at_a_question_leaves_the_run_parked": (
        "test_terminal.test_ctrl_c_at_a_question_of_a_flow_leaves_it_parked"
    ),
    "test_terminal.test_attach_draws_the_board_of_a_detached_run": (
        "test_terminal.test_the_live_board_shows_the_run_while_it_goes_on_and_a_summary_at_its_end"
    ),
    "test_trust_terminal.test_only_what_changed_is_asked_about_again": (
        "test_trust.test_a_command_that_changed_is_listed_again"
    ),
    "test_trust_terminal.test_a_plan_edited_in_mid_run_is_asked_about_at_a_gate": (
        "test_trust.test_a_plan_edited_in_mid_run_waits_at_a_gate_where_trust_is_ask"
    ),
    "test_leftovers.test_a_start_at_a_terminal_removes_what_other_runs_left_as_well": (
        "test_leftovers.test_gc_removes_what_a_killed_run_left_and_keeps_what_it_needs_to_be_resumed"
    ),
    "test_proposals_terminal.test_proposed_checks_are_kept_on_a_yes_and_nothing_is_written_on_a_no": (
        "test_proposing.test_checks_are_proposed_and_nothing_is_written_without_a_yes"
    ),
    "test_interrupt.test_ctrl_c_at_a_terminal_reaches_the_whole_process_group_and_is_as_clean": (
        "test_terminal.test_ctrl_c_stops_the_run_and_leaves_a_readable_screen"
    ),
    # Starting, joining and leaving.
    "test_detach.test_wait_exits_with_2_when_the_run_needs_a_person": (
        "test_json_contract.test_wait_exits_as_the_run_did_and_prints_its_status"
    ),
    "test_detach.test_resume_takes_up_a_run_that_was_left_behind": (
        "test_both_kinds.test_a_run_whose_driver_was_killed_is_taken_over"
    ),
    "test_detach.test_the_first_interrupt_stops_cleanly_and_the_run_can_be_resumed": (
        "test_interrupt.test_a_signal_stops_the_driver_gives_its_steps_back_and_ends_its_agents"
    ),
    "test_detach.test_a_second_run_joins_a_live_one_on_the_same_terms": (
        "test_many_drivers.test_a_run_on_the_terms_of_the_live_one_joins_it_and_ends_with_it"
    ),
    "test_detach.test_a_second_run_on_other_terms_is_refused_naming_the_difference": (
        "test_app_catalog.test_joining_on_other_terms_is_refused_and_every_difference_is_named"
    ),
    "test_detach.test_a_blocked_run_is_not_picked_up_silently": (
        "test_detach.test_a_parked_run_is_not_picked_up_silently"
    ),
    "test_first_steps.test_the_first_run_shows_the_commands_it_will_execute_and_the_second_does_not": (
        "test_trust.test_without_a_terminal_commands_are_listed_once_and_the_run_goes_on"
    ),
    "test_gates.test_of_two_answers_at_once_one_counts_and_the_other_is_told": (
        "test_flow_gates.test_of_two_answers_at_once_one_counts_and_the_other_is_told"
    ),
    "test_gates.test_a_live_driver_picks_up_an_answer_given_elsewhere": (
        "test_flow_gates.test_a_live_driver_takes_up_an_answer_that_was_given_elsewhere"
    ),
    "test_flow_live.test_a_live_driver_goes_on_with_an_answer_from_another_process": (
        "test_flow_gates.test_a_live_driver_takes_up_an_answer_that_was_given_elsewhere"
    ),
    "test_flow_live.test_a_parked_run_is_cancelled_and_its_gate_takes_no_answer_any_more": (
        "test_both_kinds.test_a_parked_run_is_cancelled_and_takes_no_answer_any_more"
    ),
    "test_run.test_an_agent_that_is_not_logged_in_blocks_the_step": (
        "test_both_kinds.test_what_a_person_has_to_see_to_blocks_the_run_and_a_retry_goes_on"
    ),
    "test_run.test_a_check_whose_program_is_missing_is_not_passed": (
        "test_checks.test_a_missing_program_blocks_a_step_and_its_work_is_only_checked_again"
    ),
    # A graph of a seed: every end of it is walked in one process.
    "test_flow_seedgraph.test_a_complete_step_leaves_its_work_its_handoff_and_its_status": (
        "test_flow_plays.test_a_complete_step_leaves_its_work_its_handoff_and_its_status"
    ),
    "test_flow_seedgraph.test_names_that_nobody_defines_are_warned_of_once_each": (
        "test_flow_plays.test_agents_that_nobody_defines_are_the_default_agent_with_a_warning"
    ),
    # What a model starts is held by the same jail as what an agent starts.
    "test_flow_tools.test_what_a_model_starts_writes_to_the_workspace_only_and_sees_what_the_agent_is_granted": (
        "test_models.test_in_a_jail_commands_of_a_provider_write_to_the_workspace_and_to_what_is_granted_only"
    ),
    "test_builtin_agent.test_the_tools_of_a_server_can_be_used": (
        "test_models_mcp.test_a_named_server_gives_its_tools_and_is_gone_afterwards"
    ),
    # What git prunes: every object of a run has to be held by a ref at each of these moments.
    "test_git_gc.test_a_parked_run_survives_a_prune": (
        "test_git_gc.test_a_run_survives_a_prune_during_every_attempt_and_every_check"
    ),
    "test_git_gc.test_work_that_was_put_on_a_new_head_survives_a_prune_before_it_lands": (
        "test_git_gc.test_a_candidate_survives_a_prune_before_it_lands"
    ),
    # Which ignored files are a product is decided by core/products; the folders are walked by workspace/ignored.
    "test_products.test_work_beside_a_plan_in_one_file_lands": "test_products.test_work_beside_the_plan_lands",
    "test_products.test_an_ignored_file_is_missed_behind_any_number_of_others": (
        "test_products.test_ignored_files_are_found_that_tools_keep_or_that_lie_behind_many_others"
    ),
    "test_products.test_an_ignored_file_that_setup_made_is_not_the_attempts": (
        "test_products.test_what_setup_makes_is_not_the_steps_product"
    ),
    # What git is told, by the workspaces themselves.
    "test_git_situations.test_hooks_are_not_run": "test_git_workspaces.test_no_hook_runs",
    "test_git_situations.test_a_repository_without_identity_will_do": (
        "test_git_workspaces.test_without_a_configured_identity_ours_is_used"
    ),
    "test_git_situations.test_the_users_identity_is_the_author": (
        "test_git_workspaces.test_the_users_identity_is_used_also_on_a_head_that_has_moved"
    ),
    "test_leftovers.test_a_start_removes_the_lock_of_a_ref_of_another_run": (
        "test_git_crashes.test_ref_locks_are_removed_without_a_run_as_doctor_does_it"
    ),
    # What the core decides without a run.
    "test_run.test_sequential_mode_follows_the_plan_one_by_one": (
        "test_decide.test_sequential_mode_claims_one_at_a_time_in_plan_order"
    ),
    "test_run.test_one_job_is_one_step_at_a_time_even_in_parallel_mode": (
        "test_decide.test_parallel_mode_claims_as_many_as_there_are_slots"
    ),
    "test_run.test_while_a_step_waits_why_names_the_timer": (
        "test_views_why.test_a_step_waiting_between_tries_names_the_timer"
    ),
    "test_parts_and_endings.test_step_next_prefers_a_step_left_in_progress": (
        "test_app_begin.test_the_next_step_is_one_in_progress_that_nobody_drives"
    ),
    "test_parts_and_endings.test_step_next_says_when_nothing_is_left": (
        "test_app_begin.test_a_plan_without_anything_left_has_no_next_step"
    ),
    "test_order.test_nothing_starts_behind_a_step_that_stands_still_in_another_repository": (
        "test_schedule.test_nothing_starts_behind_a_step_that_stands_still_in_another_repository"
    ),
    "test_figures.test_the_time_at_a_gate_is_no_time_of_the_run_and_its_checks_are_told_there": (
        "test_figures.test_only_the_time_in_which_a_run_was_driven_counts"
    ),
    "test_figures.test_attempts_and_fixes_go_on_counting_through_a_retry_and_a_skip": (
        "test_figures.test_a_further_round_has_fresh_budgets_and_goes_on_counting_fixes"
    ),
    "test_formats.test_a_phased_step_may_be_named_without_its_zero": (
        "test_naming.test_a_step_is_found_by_its_number_and_by_its_file"
    ),
    "test_clean_plans.test_the_root_of_a_finished_plan_says_so": (
        "test_samples.test_a_plan_whose_steps_are_all_done_says_so_in_its_own_words"
    ),
    # Two tests of real processes that end in the same way.
    "test_gates.test_stopping_at_a_wave_ends_the_run": "test_gone_on.test_a_run_stopped_at_a_wave_can_be_gone_on_from",
    "test_gates.test_an_agent_does_not_answer_in_a_persons_place": (
        "test_flow_gates.test_what_a_flow_has_started_does_not_answer_in_a_persons_place"
    ),
    "test_gone_on.test_a_landed_step_that_is_set_back_and_kept_is_marked_done_again": (
        "test_gone_on.test_a_landed_step_that_is_set_back_is_asked_about_and_done_again"
    ),
    "test_checks.test_a_missing_program_blocks_a_flow_without_asking_its_agent_and_a_resume_visits_it_again": (
        "test_both_kinds.test_a_command_that_is_missing_blocks_the_run_and_sends_nobody_back_to_work"
    ),
    "test_integrating.test_steps_that_never_pass_together_do_not_end_well": (
        "test_integrating.test_steps_that_pass_alone_and_fail_together_go_back_to_the_agent_of_the_later_one"
    ),
    "test_permissions.test_a_yes_holds_in_a_flow_as_well": (
        "test_permissions.test_a_tool_is_used_in_the_next_attempt_if_a_person_said_yes"
    ),
    "test_two_starts.test_what_another_live_run_has_landed_counts_once_it_is_in_the_base": (
        FAKES + "test_a_step_that_another_live_run_has_landed_elsewhere_meets_no_need"
    ),
    "test_streams.test_a_question_parks_a_run_with_closed_streams_and_an_answer_continues_it": (
        "test_streams.test_a_run_works_with_closed_streams"
    ),
    "test_terminal.test_the_terminal_notices_an_answer_from_elsewhere_and_goes_on": (
        "test_both_kinds.test_at_a_terminal_a_question_answered_elsewhere_is_not_waited_for"
    ),
    "test_detach.test_detach_in_json_names_the_run_and_its_process": DETACHED,
    "test_detach.test_attach_follows_a_detached_run_to_its_end": (
        "test_detach.test_leaving_attach_does_not_stop_the_run"
    ),
    "test_walked_steps.test_what_models_answer_in_the_flows_of_steps_is_recorded_and_played": (
        "test_record.test_a_recorded_flow_played_elsewhere_does_the_same"
    ),
    "test_interrupt.test_a_resume_ends_supervisors_that_froze_before_their_driver_was_stopped_at_once": (
        "test_frozen_driver.test_a_supervisor_that_is_frozen_itself_is_killed_with_its_family"
    ),
    "test_run_branch.test_a_deleted_branch_survives_a_gc_that_prunes_everything": (
        "test_git_gc.test_a_run_survives_a_prune_during_every_attempt_and_every_check"
    ),
    "test_run_branch.test_a_branch_that_was_set_back_is_restored": (
        FAKES + "test_a_branch_that_is_set_back_after_the_last_landing_is_restored_before_the_run_ends"
    ),
    "test_do.test_packages_that_git_ignores_are_installed_in_the_fresh_workspace": (
        "test_git_situations.test_the_setup_command_runs_in_every_workspace_before_the_agent"
    ),
    "test_git_workspaces.test_processes_landing_the_same_steps_at_once_land_each_exactly_once": (
        "test_git_workspaces.test_processes_landing_at_once_land_every_step_exactly_once"
    ),
    "test_many_drivers.test_four_processes_drive_each_of_a_dozen_contended_steps_exactly_once": (
        "test_two_starts.test_processes_that_start_together_share_one_run"
    ),
    "test_kill_and_resume.test_a_workspace_that_a_dead_driver_did_not_come_to_remove_is_removed_by_the_next": (
        "test_leftovers.test_a_driver_that_is_terminated_while_it_lands_leaves_no_worktree"
    ),
    "test_interrupt.test_a_stopped_driver_leaves_the_work_of_the_others_alone": (
        FAKES + "test_a_driver_whose_claim_was_taken_over_stops_only_that_walk"
    ),
    "test_trust_terminal.test_a_no_starts_nothing_and_is_remembered_until_it_is_taken_back": (
        "test_trust.test_what_a_person_refused_is_not_executed_without_a_terminal_either"
    ),
    "test_agents_of_steps.test_an_agent_s_question_is_answered_in_one_s_own_words": (
        STEPS + "test_a_question_parks_the_step_and_its_answer_goes_into_the_next_prompt"
    ),
    "test_agents_of_steps.test_a_spent_budget_asks_a_person": (
        STEPS + "test_a_spent_budget_asks_a_person_before_the_next_launch"
    ),
    # The same driver on fakes, in one process: corrective steps, walks of a run, claims, pauses and takeovers.
    "test_healing.test_a_corrective_step_that_is_blocked_is_not_healed_itself_but_a_second_one_is_planned": (
        "test_heal_cycles.test_a_second_way_is_planned_when_the_first_did_not_get_through"
    ),
    "test_healing.test_a_plan_that_is_wrong_is_for_people": (
        "test_heal_cycles.test_a_wrong_plan_is_neither_fixed_nor_healed_further"
    ),
    "test_run_walks.test_a_red_first_walk_lets_no_step_begin": (
        "test_run_walks.test_a_red_one_blocks_the_run_and_touches_no_file"
    ),
    "test_run_walks.test_a_red_last_walk_blocks_the_run_until_its_cause_is_gone": (
        "test_run_walks.test_a_resume_walks_a_red_one_again"
    ),
    "test_plan_files_as_truth.test_a_stale_claim_is_taken_over": (
        FAKES + "test_a_claim_that_somebody_else_writes_first_is_respected_until_it_is_stale"
    ),
    "test_plan_files_as_truth.test_a_fresh_claim_of_somebody_else_is_respected_and_named": (
        FAKES + "test_a_claim_that_somebody_else_writes_first_is_respected_until_it_is_stale"
    ),
    "test_parts_and_endings.test_pause_lets_the_agent_end_and_resume_goes_on_from_there": (
        FAKES + "test_a_pause_lets_the_node_at_work_end_and_begins_nothing_new_until_it_is_resumed"
    ),
    "test_parts_and_endings.test_cancel_stops_a_parked_run_until_it_is_resumed": (
        "test_figures.test_a_cancelled_run_is_resumed_with_all_it_had"
    ),
    "test_frozen_owner.test_a_driver_that_waits_for_others_takes_over_from_an_owner_that_freezes": (
        FAKES + "test_a_step_whose_driver_dies_is_taken_over_by_one_that_lives"
    ),
    "test_run_branch.test_a_branch_that_was_squash_merged_and_removed_is_restored": (
        FAKES + "test_a_branch_that_is_deleted_in_mid_run_is_restored_and_that_is_told"
    ),
    DROPPED: FAKES + "test_what_a_check_drops_is_neither_landed_nor_in_the_way",
    "test_interrupt.test_a_stop_does_not_wait_for_a_git_of_the_users_and_the_next_start_writes_what_is_late": (
        "test_gitwork.test_a_process_that_is_stopped_waits_for_no_git"
    ),
    "test_leftovers.test_drafts_that_a_dead_writer_left_beside_the_plan_go_and_a_persons_files_stay": (
        "test_dag_writing.test_the_draft_of_a_killed_writer_is_removed_by_the_next_one"
    ),
    "test_leftovers.test_folders_in_the_systems_temporary_folder_that_are_not_ours_stay": (
        "test_scratch.test_a_folder_of_another_user_is_neither_used_nor_removed"
    ),
    # Kills of real processes, of which the same moments are enumerated in one process.
    "test_mutants.test_a_driver_killed_over_mutants_leaves_nothing_and_the_run_goes_on": (
        "test_crash_enumeration.test_a_run_with_mutants_ends_the_same_wherever_the_process_dies"
    ),
    "test_flow_seedgraph.test_a_run_ends_the_same_wherever_it_is_killed": (
        "test_flow_driver.test_a_flow_ends_the_same_wherever_the_process_dies"
    ),
    "test_flow_seedgraph.test_the_enumeration_covers_every_write": (
        "test_flow_driver.test_the_enumeration_covers_every_append"
    ),
    "test_git_gc.test_an_attempt_that_was_cut_short_begins_again_after_a_prune": (
        "test_git_gc.test_a_run_survives_a_prune_during_every_attempt_and_every_check"
    ),
    "test_figures.test_an_attempt_that_was_killed_with_its_driver_costs_what_was_heard_of_it": (
        "test_figures.test_an_attempt_that_is_cut_short_costs_what_its_agent_had_used"
    ),
    # Two tests of real processes that show the same.
    "test_record_pauses.test_a_question_is_played_as_one_and_its_answer_leads_to_the_same_tree": (
        "test_record_pauses.test_a_question_in_a_flow_is_played_as_one"
    ),
    "test_detach.test_a_detached_run_goes_on_alone_and_wait_exits_as_it_did": DETACHED,
    "test_streams.test_the_board_is_drawn_where_the_terminal_knows_only_ascii": (
        "test_streams.test_signs_that_a_stream_cannot_show_have_plain_ones_in_their_place"
    ),
    "test_agents_of_steps.test_an_attempt_that_changed_nothing_and_what_it_used_are_shown": (
        "test_own_word.test_with_autopilot_a_step_that_changed_nothing_is_blocked_until_the_agent_tries_again"
    ),
    "test_judges.test_a_step_whose_tests_are_part_of_it_needs_one": (
        "test_judges.test_a_chunk_whose_tests_are_part_of_it_needs_one"
    ),
    "test_git_situations.test_an_agents_edits_of_the_plan_and_of_drumlines_folder_are_dropped": (
        "test_products.test_work_on_the_plan_itself_does_not_land"
    ),
    "test_do.test_changes_that_are_not_committed_are_named_and_not_seen": (
        "test_git_situations.test_uncommitted_work_is_mentioned_once_and_stays_out_of_the_run"
    ),
    "test_do.test_a_merge_that_was_refused_is_tried_again_by_a_resume": (
        "test_do.test_what_was_interrupted_is_merged_by_the_resume"
    ),
    "test_terminal.test_a_question_of_a_flow_takes_ones_own_words": (
        "test_terminal.test_a_flow_shows_its_nodes_asks_until_the_answer_is_legal_and_prints_its_output"
    ),
}
"""By file and test: the test, by its file, that shows the same and stays."""
