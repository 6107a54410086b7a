"""The reference of the JSON contracts. Every example is printed by the function that prints it for scripts."""

from __future__ import annotations

import json

from tools.docs.flowsample import sample_flow_history, sample_flow_snapshot
from tools.docs.sample import sample_history, sample_reading, sample_snapshot
from tools.docs.tables import join, table

from drumline.app.checktrial import IDS, JUDGE, Played, Trial
from drumline.app.detection.found import Detected, Found
from drumline.app.proposing import propose
from drumline.cli.checks import checks_json
from drumline.cli.checkstest import trial_json
from drumline.cli.flowvalidate import flow_validation_json
from drumline.cli.validate import validation_json
from drumline.core.flow.edges import EdgeKind
from drumline.core.flow.model import AgentNode, EndNode, Flow, NodeId
from drumline.core.ids import StepId
from drumline.core.lies import Lie
from drumline.core.outlook import look_ahead
from drumline.flowfiles import FlowReading
from drumline.record import replace, to_plain
from drumline.views.progress import Progress
from drumline.views.report import report_json, step_report
from drumline.views.runreport import History, run_report
from drumline.views.runs import run_row, runs_json
from drumline.views.snapshot import Snapshot
from drumline.views.status import status_json
from drumline.views.summary import summary, summary_json
from drumline.views.why import why, why_json

PROGRESS: tuple[tuple[str, str], ...] = (
    ("start", "The run has begun: steps, pending, branch, mode, agent."),
    ("resumed", "A driver has taken the run up."),
    ("declared", "Steps that the plan's files call done already."),
    (
        "plan_changed",
        "Somebody edited the plan, and the edit counts; or a flow added a step to it (`cause`, `origin`).",
    ),
    ("revision_refused", "What a later step says could not be changed in the plan's files, and why."),
    ("correction_refused", "A corrective step could not be written into the plan's files, and why."),
    (
        "document",
        "A step left a document: its `kind`, and the `path` among the plan's files if there is a place for it.",
    ),
    ("walk_started", "A walk of the run itself, `@preflight` or `@final`, has begun."),
    ("walk_done", "It came to its end."),
    ("walk_blocked", "It is blocked, and so is the run; `reason` says why."),
    ("walk_failed", "It has failed, and so has the run."),
    ("plan_invalid", "An edit made the plan unusable; the run keeps the plan as it was. Without `seq`."),
    ("waiting", "This driver has nothing to do for now, and what it waits for. Without `seq`."),
    (
        "branch_misplaced",
        "The run branch was moved while the agent of `step` was at work; those `beside` it, too.",
    ),
    ("branch_settled", "The run branch had been moved or deleted by somebody else; where it stands now, and why."),
    ("config_repinned", "What was tried again uses the present configuration: `changed` are the settings that differ."),
    ("mode_changed", "Steps not yet started are scheduled differently."),
    ("step_started", "A step is in work."),
    ("check_failed", "A check failed or could not be run."),
    ("fix", "The agent is asked again: fix n of m."),
    ("reading", "An agent that may only read began: a diagnosis, for example."),
    (
        "sent_back",
        "Work goes back to its agent for files of others, for what a review found, or because it does not fit to what "
        "landed meanwhile; no fix is used up.",
    ),
    ("gone_on", "An agent's time or turns were up; the next attempt gets what is left, and no fix is used up."),
    ("unread", "An agent that may only read gave no answer that can be used; the node's `fallback` follows."),
    ("retry_wait", "A failure that may pass by itself; the next attempt comes after a pause."),
    ("notice", "What was remarkable about an attempt, such as a change outside its workspace: `notices`."),
    ("handed_over", "An agent cannot go on; another takes over: `agent`, `failure`."),
    ("deferred", "A step waits for its agent's quota: `until`, in seconds since 1970."),
    ("lost", "Work that was cut short with its driver is taken up again."),
    ("step_done", "Step n of m is done: commit, checks, whether it is proved."),
    ("blocked", "A step is blocked, and why."),
    ("failed", "A step has failed, and why."),
    ("rejected", "A person rejected a step, and why."),
    ("skipped", "A step was left out by a person."),
    ("reopened", "A step gets another round."),
    ("gate", "A question to a person, with its options."),
    ("answered", "An answer to one."),
    ("parked", "Nothing can go on until a gate is answered, or `until` a quota resets."),
    ("pausing", "A person paused the run: what is at work ends its node, nothing new begins, then it is `parked`."),
    ("cancelled", "A person stopped the run."),
    ("report", "At the end of a run of one step: what came of it."),
    ("summary", "The run has ended; and once more, with all figures, before the last line."),
    (
        "merged",
        "`do --merge` has moved your branch to the result: `branch`, `commit`. After the last line, without `seq`.",
    ),
)
FLOW_PROGRESS: tuple[tuple[str, str], ...] = (
    ("flow_started", "A flow is walked: the run's own, or one that a node calls (`scope`)."),
    ("node_started", "A visit acts: `node`, `scope`, `visit`, `name`."),
    (
        "node_ended",
        "A visit is over: `next`, the keys it `wrote`, `seconds`; `fell_back` says why it went to its fallback.",
    ),
    ("node_failed", "A visit failed, and why."),
    ("node_lost", "A visit was cut short with its driver; it is begun again."),
    ("agent_asked", "Another `agent` than the node's own takes over, or one continues with a `session`."),
    (
        "node_suspended",
        "An agent asks a person, or cannot go on: `failure`, `message`. The visit goes on, with `until` at that time.",
    ),
    ("gate", "A question to a person, with its options."),
    ("answered", "An answer to one."),
    ("parked", "Nothing can go on until a gate is answered, or until a quota resets (`until`)."),
    ("resumed", "A driver has taken the run up."),
    ("pausing", "A person paused the run: visits at work end, no other begins, then it is `parked`."),
    ("cancelled", "A person stopped the run."),
    ("config_repinned", "What was tried again uses the present configuration: `changed` are the settings that differ."),
    ("flow_ended", "A flow is over: `status`, `node`, `reason`."),
    ("warning", "Something had to be guessed: `message`. Without `text`."),
)
SAMPLE_FLOW = Flow(
    name="small",
    start=NodeId("work"),
    nodes={
        NodeId("work"): AgentNode(id=NodeId("work"), line=4, agent="coder", prompt="Go.", next=(NodeId("done"),)),
        NodeId("done"): EndNode(id=NodeId("done"), line=8),
    },
)
_ERROR = {"message": "there is no plan at 'x'", "hint": "drumline validate PATH/TO/PLAN", "exit_code": 3}


def _report_sample(snapshot: Snapshot) -> dict[str, object]:
    """A report without the streams of its steps."""
    report = to_plain(run_report(snapshot, History(own=(), streams={}, diffs={})))
    return {**report, "steps": report["steps"][:1], "perChunk": report["perChunk"][:1]}


def contracts_page() -> str:
    """What `--json` prints, command by command."""
    snapshot = sample_snapshot()
    fixing = Progress().feed(sample_history(), snapshot.run)[-1]
    return join(
        "# JSON",
        "With `--json` a command prints one JSON object per line on stdout and nothing else there. Every object has a "
        "`schema_version`; within a version keys are added, never renamed or removed. An error is an object as well:",
        _fence({"schema_version": 1, "ok": False, "error": _ERROR, "problems": []}),
        "## drumline validate PLAN --json",
        _fence(validation_json(sample_reading(), ok=True)),
        "## drumline checks PLAN --json",
        "`proved` of `of` steps would be proved; `held` are steps that a blocked or failed one keeps from running, "
        "`read_only` those whose role may only read: neither is counted. A `step` that is empty means every step "
        "without a check. `written` is the file that `--accept` has written, empty if none, and `accepted` what it has "
        "kept there; that is not `proposed` any more.",
        _fence(_checks_sample()),
        "## drumline checks test [STEP] --json",
        "`broken` is the file that was emptied, null if the checks failed without that. Of each lie `by` says what "
        "caught it, in the words of [the page about proofs](../explanation/proof.md#try-your-own-checks); `honest` is "
        "true for the work that is not a lie.",
        _fence(_trial_sample()),
        "## drumline status [RUN] --json",
        "`state` is one of running, parked, done, failed, rejected, blocked, cancelled, interrupted. A step's `state` "
        "is one of waiting, ready, running, parked, done, blocked, failed, rejected, skipped. (Only two of the six "
        "steps are shown here.)",
        _fence(_short_status()),
        "## drumline run PLAN --json",
        "Prints one line per event below, then a `summary`, then the same object as `status` as the last line. For a "
        "run of a single step a `report` comes before the summary. `resume --json` does the same.",
        table(("event", "meaning"), [(f"`{name}`", meaning) for name, meaning in PROGRESS]),
        "Every line has `event`, `run`, `seq` (its place in the journal), `at` (seconds since 1970) and `text`, for "
        "example:",
        _fence({"schema_version": 1, **fixing.data}),
        "The summary:",
        _fence({"event": "summary", **summary_json(summary(snapshot))}),
        "The report of a single step:",
        _fence({"event": "report", **report_json(step_report(snapshot, StepId("step-3")))}),
        "## drumline why [STEP] --json",
        "Of the whole run if no step is named. `visit` is the place in a run of a flow, or the run; null for a step.",
        _fence(why_json(snapshot.run.id, why(snapshot, StepId("step-5")))),
        "## drumline report [RUN] --json",
        "What came of a run, with the times and the diffs of its steps; `report --html` and `report --md` are made of "
        "it and of nothing else. Its JSON Schema is `drumline/schemas/report.schema.json` in the package. Times are "
        "seconds since 1970, `spans` the visits of nodes, `waits` the time at gates and for quotas; `critical` steps "
        "are on the chain of needs that ended last. `iterations` counts fixes after checks and after reviews; "
        "`hitReviewCap` says that blockers are left although they went back as often as they may. "
        "`unresolvedBlockers` are those that are open, confirmed or not, or that a person accepted, also of a step "
        "that has not ended; `concerns` and `nits` those that are neither fixed nor wrong, `deferred` what was put "
        "off, `unassigned` what names a step that there is not; `clean` says that every step is done or skipped, "
        "without blockers and concerns, and that every agent that was asked gave a usable answer: `unread` are the "
        "nodes of a step whose agents did not, `review_of_the_whole` is what came of the review of the run itself. "
        "`fails_on_head` has those of a step's checks that fail on the head of the run branch: each is a concern by "
        "`drumline`, also once a person has accepted it. (Only the first step is shown here.)",
        _fence(_report_sample(snapshot)),
        "## drumline runs --json",
        _fence(runs_json([run_row(snapshot.run, live=True, started_at=snapshot.started_at)])),
        *_flow_parts(),
        "## The others",
        "`drumline --json`, without a command, prints `run` (the status of the newest run, or null), `plan` (the "
        "newest unfinished plan, or null) and `next`, the commands that come next.",
        "`answer`, `retry`, `skip`, `pause` and `cancel` print `ok`, `run` and `driven`; `driven` says "
        "whether a driver is there to act on it. `init` prints `created`, `logs` prints `logs` with `name`, `path` and "
        "`bytes`, and for agents that tell what they do `happenings` with `at`, `kind`, `text`, `call`, `failed` and "
        "`detail`; with `--errors` it prints `errors` with `at`, `step`, `agent`, `what`, `class`, `message` and "
        "`resolution`. `doctor` prints `findings` with `name`, `level`, `text` and `hint`, `run --detach` prints "
        "`run`, `pid` and `log`, `run --dry-run` prints the format, the steps, checks and profile of what would be "
        "run, and `proved`, `of`, `held`, `read_only` and `proposed` as `checks` does, `wait` prints the status, "
        "and so does `attach` after the lines that `run` prints. `diff` prints `old` and `new`, `files` with `path`, "
        "`added` and `deleted` (null for what is not text), and without `--stat` the `diff`; `merge` prints `into`, "
        "`how` (`fast_forward`, `merge`, `already` or `pull_request`) and the `commit` or the `address`; `verify` "
        "prints `ok`, the first `difference` with `step`, `what`, `said` and `found`, and the `steps`.",
    )


def _flow_parts() -> list[str]:
    snapshot = sample_flow_snapshot()
    lines = Progress().feed(sample_flow_history(), snapshot.run)
    return [
        "## drumline flow validate FILE --json",
        "`flow` is null if the file is too broken to show a shape. An edge's `kind` is one of "
        f"{', '.join(kind.value for kind in EdgeKind)}; its `label` is the answer, condition or verdict that chooses "
        "it.",
        _fence(flow_validation_json(FlowReading(flow=SAMPLE_FLOW, draft=SAMPLE_FLOW))),
        "## Runs of a flow",
        "A run of a flow is a run of one step, `flow`: `status` and `wait` print the object above. What its walk tells "
        "is the step's `walk`, and stands at the top, too: `at_work` are the visits that act, `visits` how "
        "often each node of the flow itself was come to, `status` the word of the end node. `folder` is where it "
        "works, `model` the one that answers. A visit is called `implement`, `implement#2`, in a called flow "
        "`coder#1/implement`, of an item `each#1[3]/one`. (Its step is not shown here.)",
        _fence({**status_json(snapshot), "steps": []}),
        "`flow run --json` prints one line per event below, then the summary with `visits`, `end` and `status`, then "
        "the status. Every line has the fields that those of plans have.",
        table(("event", "meaning"), [(f"`{name}`", meaning) for name, meaning in FLOW_PROGRESS]),
        _fence({"schema_version": 1, **lines[2].data}),
        "`why [NODE] --json`; `state` is one of running, parked, waiting, lost, over, failed, not reached, or that of "
        "the run if no node is named:",
        _fence(why_json(snapshot.run.id, why(snapshot, "review"))),
        "`logs [NODE] --json` prints `visits`, each as in `recent` above with its `logs`, and with `--state` the "
        "`state` after it, null where the flow keeps none. So it does of a step that walks a flow by name, "
        "of `STEP/NODE`, and with `--state`, beside the `attempts` at the step.",
    ]


def _checks_sample() -> dict[str, object]:
    reading = sample_reading()
    found = Detected(found=(Found(kind="test", command="make test", place="Makefile"),))
    first, second, *_ = reading.plan.steps
    reading = replace(reading, plan=reading.plan.with_steps([first, replace(second, checks=())]), marks={})
    return checks_json(reading, look_ahead(reading), propose(reading, found), found)


def _trial_sample() -> dict[str, object]:
    deleted = Played(lie=Lie(name="deletes the tests"), state="blocked", caught_by=(JUDGE, IDS), passed=True)
    honest = Lie(name="brings the file back", honest=True)
    trial = Trial(broken="calc.py", played=(deleted, Played(lie=honest, state="done", level="proved", passed=True)))
    return trial_json(["make test"], trial)


def _short_status() -> dict[str, object]:
    found = status_json(sample_snapshot())
    steps = found["steps"]
    return {**found, "steps": [step for step in steps if step["id"] in ("step-3", "step-4")]}  # type: ignore[attr-defined]


def _fence(data: object) -> str:
    return f"```json\n{json.dumps(data, indent=2, ensure_ascii=False)}\n```"
