"""Every problem `drumline validate` can report. A test holds this table against the code."""

from __future__ import annotations

from collections.abc import Mapping

PROBLEMS: tuple[tuple[str, str, str], ...] = (
    ("missing_root", "error", "The directory has no `root.md`."),
    ("no_steps", "error", "There is no `step-*.md`."),
    ("missing_file", "error", "A file went away while the plan was read."),
    ("symlink", "error", "A file of the plan is a symbolic link. Links are not followed."),
    ("not_a_file", "error", "A file of the plan is a folder, a pipe or a device."),
    ("unreadable", "error", "The system does not let us read the file."),
    ("bad_file_name", "error", "A file's name cannot be printed."),
    ("file_too_large", "error", "A file has more than 1 MiB."),
    ("too_many_lines", "error", "A file has more than 20,000 lines."),
    ("not_utf8", "error", "A file is not UTF-8; the line is named."),
    ("no_frontmatter", "error", "A step has no block between `---` lines at its top. `root.md` may do without."),
    ("unclosed_frontmatter", "error", "The block begins with `---` but never ends."),
    ("not_a_mapping", "error", "The frontmatter is not a list of `key: value` lines."),
    ("yaml_alias", "error", "The frontmatter uses YAML anchors or aliases, which are not followed."),
    ("bad_yaml", "error", "The frontmatter is not YAML that Drumline reads; the message says what is wrong."),
    ("bad_value", "error", "A field holds the wrong kind of value, for example a text where a list is due."),
    ("duplicate_key", "error", "A field is written twice."),
    ("missing_id", "error", "A step has no `id`."),
    ("bad_id", "error", "An id is not legal: letters, digits, `.`, `_` and `-`, at most 64, no `..`."),
    ("duplicate_id", "error", "Two files have the same id."),
    ("bad_status", "error", "The status is none of the legal words."),
    ("bad_tier", "error", "The tier is none of `fast`, `standard`, `strong`."),
    ("bad_estimate", "error", "The estimate is not a number above 0."),
    ("path_escape", "error", "A path under `files` leaves the repository."),
    ("self_need", "error", "A step needs itself."),
    ("unknown_need", "error", "A step needs one that is not in the plan."),
    ("cycle", "error", "Steps wait for each other; the message names the circle."),
    ("no_root_step", "error", "Every step needs another, so none can start."),
    ("bad_json", "error", "A JSON file of the plan cannot be read; the message says why."),
    ("bad_sidecar", "error", "The sidecar, which holds what a plan's format has no place for, is not as written."),
    ("redundant_need", "warning", "A need is listed twice, or follows from another need."),
    ("file_overlap", "warning", "Steps that may run at the same time own the same files; they run one by one."),
    ("table_unknown_step", "warning", "The table in `root.md` lists a step that has no file."),
    ("table_missing_step", "warning", "The table in `root.md` leaves a step out."),
    ("table_needs", "warning", "The table in `root.md` shows other needs than the step's file, which counts."),
    ("table_status", "warning", "The table in `root.md` shows another status than the step's file, which counts."),
    ("drawing_differs", "warning", "The drawing in `root.md` shows other steps or needs than the files, which count."),
    ("missing_bucket", "warning", "Success Criteria lack one of their three lists."),
    ("boxes_ticked", "warning", "Every check is ticked but the status is not done; the status counts."),
    (
        "misspelt_field",
        "warning",
        "A field of a step's file, or a command in `root.md`, looks like a known one. Others are left alone.",
    ),
    ("unknown_role", "warning", "`role` names no shipped profile, so it does not count."),
    ("no_checks", "warning", "A step that is still to do has no check. It can land, but nothing proves it."),
    (
        "check_not_command",
        "warning",
        "An item under Automated Verification is not a command, and is not run; the message says why.",
    ),
    (
        "not_yaml",
        "warning",
        "A line of the frontmatter is not YAML; its value is read as the text it is, or the line is left out.",
    ),
    (
        "bad_autonomy",
        "warning",
        "`autonomy` in `root.md` is none of `autopilot`, `critical`, `verbose`; read as `verbose`.",
    ),
    ("bad_require", "warning", "`require` in `root.md` is none of `none`, `kept`, `proved`; read as `proved`."),
)
"""Of every format, the native one included."""

FORMAT_PROBLEMS: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "phased": (
        ("handoff_differs", "warning", "A handoff says something else than the step's status; the handoff counts."),
        ("handoff_partial", "warning", "A handoff says `result: partial`, so the step is not done."),
        ("handoff_blocked", "warning", "A handoff says `result: blocked`, so the step is not done."),
        ("handoff_no_result", "warning", "A handoff has no `result` that is known, so it does not count."),
        ("handoff_unknown", "warning", "A handoff's file has the name of no step."),
        ("step_number", "warning", "`step` is another number than the file's name begins with; the name counts."),
    ),
    "implement": (
        ("heading_drift", "warning", "A heading is read as a step's though it is not written like one."),
        ("heading_unread", "warning", "A heading looks like a step's, but has nothing that can be an id."),
        ("status_drift", "warning", "A status is not one of the format's words; the message says how it is read."),
        ("no_status", "warning", "A step has no status that is known; it counts as pending."),
        ("second_status", "warning", "A step has a second status line, which does not count."),
        ("two_statuses", "warning", "Heading and status line disagree; the line counts."),
        ("mixed_variants", "warning", "Some steps have their status in the heading, others on a line."),
        ("elsewhere", "warning", "The step is for another repository and is not run here."),
        ("file_not_used", "warning", "A word under Files is not a path inside the repository."),
        ("low_confidence", "warning", "The plan's provenance says that its own confidence is low."),
        (
            "run_state",
            "warning",
            "`run-state.json` says that another tool began this plan less than two hours ago. `run` asks first; "
            "without a terminal it wants `--new`.",
        ),
        ("old_run_state", "warning", "The same, more than two hours ago. A run replaces that state."),
    ),
    "maestro": (
        ("invalid_plan", "error", "There is no list of `phases`."),
        (
            "missing_required_field",
            "error",
            "A phase lacks a field; in a state file a warning that says what is assumed.",
        ),
        ("invalid_field_type", "error", "A field of a phase holds the wrong kind of value."),
        ("invalid_field_value", "error", "A list of files or checks holds something that is not a text."),
        (
            "phase_count",
            "error",
            "More phases than `task_complexity` allows; corrective ones do not count.",
        ),
        ("unknown_agent", "error", "The agent of a phase is not a known role."),
        (
            "agent_capability_mismatch",
            "error",
            "A phase owns files, but its role may not write. A warning if the files are only named in prose, and if "
            "only the phase's name sounds like writing.",
        ),
        ("several_agents", "warning", "A phase has several agents; the first does the work."),
        ("mixed_ids", "warning", "An id is written as a number here and as a text there; they are the same."),
        ("parallel_assumed", "warning", "A section does not say whether it may run beside others; assumed: no."),
        ("needs_assumed", "warning", "A section does not say what blocks it; the message says what is assumed."),
        ("bad_workflow_mode", "warning", "`workflow_mode` is neither `standard` nor `express`; assumed: standard."),
    ),
    "tasklist": (
        (
            "deferred",
            "warning",
            "Tasks are skipped: the heading above them, a line through them or words in brackets say that they are "
            "not to be done now.",
        ),
        ("box_unread", "warning", "Boxes are not tasks of this format, or cannot be ticked; they are left alone."),
        ("id_twice", "warning", "Two tasks have the same id; the message says how the second is called."),
        ("mark_unknown", "warning", "A box has a mark that is not known; the task counts as in progress."),
        (
            "parent_ticked",
            "warning",
            "A box is ticked while one in it is open: an open step is run, an open item of a task is left as it is.",
        ),
        ("group_check", "warning", "A group has a check, but its steps may end in any order, so no step runs it."),
    ),
    "superpowers": (("id_twice", "warning", "Two tasks have the same id; the message says how the second is called."),),
    "taskmaster": (
        ("tag_chosen", "warning", "The file has several tags with tasks; the message says which one is read."),
        ("task_unread", "warning", "A task has no id that can name a step; it is left out."),
        ("id_twice", "warning", "Two tasks have the same id; the message says how the second is called."),
        ("status_unknown", "warning", "A status is not one of Task Master's; the task counts as in progress."),
        ("parent_done", "warning", "A task is done, but not all of its subtasks; their own status counts."),
        ("need_dropped", "warning", "A task depends on itself or on one that is not there; that is left out."),
    ),
    "kiro": (
        ("graph_unread", "warning", "The dependency graph cannot be read; each task needs the one before it."),
        ("graph_unknown", "warning", "The dependency graph names tasks that are not there."),
        ("graph_left_out", "warning", "The dependency graph leaves tasks out; each waits for the tasks above it."),
    ),
    "speckit": (
        ("need_dropped", "warning", "Prose says that a task waits for one that waits for it; that is left out."),
    ),
    "waves": (
        ("no_waves", "error", "`waves` is empty."),
        ("missing_key", "error", "A required key is missing."),
        ("empty_wave", "warning", "A wave has no chunks; it is passed over."),
        ("unknown_key", "warning", "A key is not known and is ignored."),
        ("unknown_model", "warning", "The model is missing or not known; the tier is standard."),
    ),
}
"""Of one format only."""
