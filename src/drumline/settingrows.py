"""The rows of the table of settings: what each is for, what is legal, and its default.

The rule: a row and a field of `Settings` in `settings.py` belong together; documents are written from the rows.
"""

from __future__ import annotations

from collections.abc import Callable

from drumline.core.proof import Require
from drumline.core.subject import PLACES
from drumline.core.vocabulary import FULL, QUICK, STANDARD, Mutants, OnConflict, Ownership, Place, Review
from drumline.protection import AUTO, PROTECTIVE
from drumline.record import Record
from drumline.settingvalues import (
    choose,
    count_from,
    parse_commands,
    parse_duration,
    parse_globs,
    parse_money,
    parse_provided,
    parse_subject,
    parse_text,
)

PREFIX = "DRUMLINE_"
TOOL = "tool"
"""The value of `questions` by which agents get a tool to ask with."""


class Setting(Record):
    """One row of the table: `legal` says what is accepted, `parse` raises ValueError for the rest."""

    key: str
    parse: Callable[[object], object]
    legal: str
    help: str
    default: str = ""
    flag: str = ""

    @property
    def env(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.key.upper()


PRESETS = ("bell", "desktop")
"""Ways to be told that need no command."""
_COMMAND = "a shell command"
_DURATION = "a duration above zero such as 90, 90s, 15m or 1h"

TABLE: tuple[Setting, ...] = (
    Setting(
        key="agent",
        parse=parse_text,
        legal="text such as scripted:FILE or command:CMD",
        flag="--agent",
        help="The agent that works on the steps.",
    ),
    Setting(
        key="fallback",
        parse=parse_commands,
        legal="a list of agents (one per line in the variable)",
        help="Agents that take over, in order, when one is out of quota, not let in, without credit or broken.",
    ),
    Setting(
        key="mode",
        parse=choose("ask", "parallel", "sequential"),
        legal="ask, parallel or sequential",
        default="ask",
        flag="--mode",
        help="Whether independent steps run at the same time; ask puts the question when the run starts.",
    ),
    Setting(
        key="autonomy",
        parse=choose("autopilot", "critical", "verbose"),
        legal="autopilot, critical or verbose",
        default="critical",
        flag="--autonomy",
        help="How often a person is asked: for blockers only, after waves that need it, or after every step.",
    ),
    Setting(
        key="jobs",
        parse=count_from(0),
        legal="a whole number of at least 0",
        default="4",
        flag="--jobs",
        help="How many steps may be worked on at the same time; 0 for no limit.",
    ),
    Setting(
        key="retries",
        parse=count_from(0),
        legal="a whole number of at least 0",
        default="2",
        flag="--retries",
        help="How often a failing check goes back to the agent before the step is blocked.",
    ),
    Setting(
        key="rigor",
        parse=choose(QUICK, STANDARD, FULL),
        legal="quick, standard or full",
        default=STANDARD,
        help="How much is done around the work on a step; by default full for phased plans, and always quick for do. "
        "It is recorded with the run. Quick: implement, checks, fixes, landing. Standard: a step that names what is "
        "not there is compared with the code first; one that still fails its checks is diagnosed and "
        "gets a corrective step; flagged steps are swept for edge cases. Full: every step is compared with the code, "
        "analysed, inspected and swept, an agent writes its handoff, and the whole is reviewed at the end.",
    ),
    Setting(
        key="review",
        parse=choose(*(review.value for review in Review)),
        legal="risk, all or none",
        default=Review.RISK.value,
        help="Which steps another agent reviews before they land, by default all of plans in waves, and never with the "
        "rigor quick. Risk: a change of 5 files or more, of a boundary (authentication, cryptography, payments, "
        "migrations, a public API, concurrency) or of what judges it, and what the plan flags. With all, and after "
        "flagged steps, everything that has landed is reviewed at the end of the run, too.",
    ),
    Setting(
        key="flow",
        parse=parse_text,
        legal="the name of a flow, or the path of its file",
        help="The flow that steps walk which name none; `step` is the shipped one.",
    ),
    Setting(
        key="require",
        parse=choose(*(level.value for level in Require)),
        legal="none, kept or proved",
        default=Require.KEPT.value,
        flag="--require",
        help="The level that steps must reach; a run with others waits at the gate accept before it is done.",
    ),
    Setting(
        key="stale_claim",
        parse=parse_duration,
        legal=_DURATION,
        default="1h",
        help="How old a claim of somebody else in a plan file must be before it is taken over.",
    ),
    Setting(
        key="lease",
        parse=parse_duration,
        legal=_DURATION,
        default="30s",
        help="How long a driver may be silent before it counts as frozen.",
    ),
    Setting(
        key="step_timeout",
        parse=parse_duration,
        legal=_DURATION,
        default="2h",
        help="How long the agents and checks of one round of a step may work; waiting for a person does not count.",
    ),
    Setting(
        key="agent_timeout",
        parse=parse_duration,
        legal=_DURATION,
        default="1h",
        help="How long one attempt of an agent may take.",
    ),
    Setting(
        key="agent_idle",
        parse=parse_duration,
        legal=_DURATION,
        default="10m",
        help="How long an agent may be silent before it is stopped.",
    ),
    Setting(
        key="quota_wait",
        parse=parse_duration,
        legal=_DURATION,
        default="15m",
        help="How long to stay for an agent's quota if there is nothing else to do; beyond that the run parks.",
    ),
    Setting(
        key="questions",
        parse=choose("line", TOOL),
        legal="line or tool",
        default="line",
        help="How an agent asks a person: by the last line of its answer, or with a tool as well, which starts slower.",
    ),
    Setting(
        key="budget",
        parse=parse_money,
        legal="a number of dollars above zero such as 5 or 2.50; empty for none",
        help="How many dollars a run may spend before a person is asked whether to go on.",
    ),
    Setting(
        key="check_timeout",
        parse=parse_duration,
        legal=_DURATION,
        default="20m",
        help="How long a check may take: tests, and the step's own verification.",
    ),
    Setting(
        key="build_timeout",
        parse=parse_duration,
        legal=_DURATION,
        default="10m",
        help="How long a check of the kind build may take.",
    ),
    Setting(
        key="lint_timeout",
        parse=parse_duration,
        legal=_DURATION,
        default="5m",
        help="How long a check of the kind lint may take.",
    ),
    Setting(
        key="format_timeout",
        parse=parse_duration,
        legal=_DURATION,
        default="5m",
        help="How long the command of the kind format may take.",
    ),
    Setting(
        key="git_timeout",
        parse=parse_duration,
        legal=_DURATION,
        default="10m",
        help="How long one git that Drumline starts may take before it counts as stuck and is killed.",
    ),
    Setting(
        key="setup",
        parse=parse_text,
        legal=_COMMAND,
        help="A command that installs what the repository needs, for agents and in the places where checks run.",
    ),
    Setting(
        key="provide",
        parse=parse_provided,
        legal="a list of paths inside the repository, or commands after a dollar sign and a space (one per line in the "
        "variable)",
        help="What git ignores and every place needs: paths of your checkout, or commands such as `$ make deps`.",
    ),
    Setting(
        key="checks",
        parse=parse_commands,
        legal="a list of shell commands (one per line in the variable)",
        help="Checks run for every step after the step's own.",
    ),
    Setting(
        key="check_jobs",
        parse=count_from(1),
        legal="a whole number of at least 1",
        default="2",
        help="How many checks one driver runs at the same time; 1 for checks that share a port or a database.",
    ),
    Setting(
        key="check_env",
        parse=parse_commands,
        legal="a list of names of variables, * stands for any letters (one per line in the variable)",
        help="Variables that checks see although their names look like credentials, or with the checkout in them.",
    ),
    Setting(
        key="check_folders",
        parse=parse_commands,
        legal="a list of paths, with ~ and $NAME (one per line in the variable)",
        help="Folders, files and sockets outside of the workspace that checks may write to.",
    ),
    Setting(
        key="judge",
        parse=parse_globs,
        legal="a list of paths or globs inside the repository (one per line in the variable)",
        help="Files that judge the work although their names do not say so: paths or globs that count as tests.",
    ),
    Setting(
        key="mutants",
        parse=choose(*(choice.value for choice in Mutants)),
        legal="off, show or gate",
        default=Mutants.SHOW.value,
        help="Whether small changes to the lines of a step's work are tried against its checks: never, once it has "
        "landed, or before, so that a step whose checks do not notice one is kept and not proved.",
    ),
    Setting(
        key="ownership",
        parse=choose(*(choice.value for choice in Ownership)),
        legal="foreign, strict or warn",
        default=Ownership.FOREIGN.value,
        help="What becomes of changes to files that a step does not own: foreign sends back those to files of other "
        "unfinished steps and to what the step calls out of scope, strict all that are not its own; warn only tells.",
    ),
    Setting(
        key="shared",
        parse=parse_globs,
        legal="a list of paths or globs inside the repository (one per line in the variable)",
        help="Files that every step may change, beside lock files of package managers and snapshots of tests.",
    ),
    Setting(
        key="on_conflict",
        parse=choose(*(choice.value for choice in OnConflict)),
        legal="agent or ask",
        help="What becomes of work that conflicts with what landed meanwhile, or fails only together with it: it goes "
        "back to its agent, or a person is asked first. By default ask for maestro plans and agent for all others.",
        default=OnConflict.AGENT.value,
    ),
    Setting(
        key="held_out",
        parse=parse_text,
        legal="the path of a folder outside of the repository, with ~ and $NAME",
        help="A folder whose executable files are checks that agents do not see; they run after all others.",
    ),
    Setting(
        key="work_in",
        parse=choose(*(choice.value for choice in Place)),
        legal="worktree or inplace",
        default=Place.WORKTREE.value,
        help="Where steps are worked on: worktree gives each one of its own, outside your checkout; inplace is your "
        "checkout, on its current branch, one step at a time. That branch may not be the default one, nor main, "
        "master, develop, development or release/*, and nothing may be uncommitted. In a file it may be called "
        "workspace.",
    ),
    Setting(
        key="worktrees",
        parse=parse_text,
        legal="a path",
        help="The folder that holds the workspaces; empty means the user's state folder.",
    ),
    Setting(
        key="notify",
        parse=parse_text,
        legal=f"{', '.join(PRESETS)} or {_COMMAND}",
        help="How you are told that a run waits for an answer or has ended: bell rings the terminal's, desktop shows a "
        "notice; a command runs at the end, and at gates if nobody is at the terminal, with the questions on stdin.",
    ),
    Setting(
        key="subject",
        parse=parse_subject,
        legal=f"a text on one line with {{title}}; known places: {', '.join('{' + place + '}' for place in PLACES)}",
        help="The first line of a step's commit; by default it names the step, and the ticket where there is one.",
    ),
    Setting(
        key="sandbox",
        parse=choose(*PROTECTIVE["sandbox"]),
        legal="required, auto or off; a repository's file cannot say off",
        default=AUTO,
        help="Whether agents run in the sandbox: refuse to run them without it, use it where it works, or never.",
    ),
    Setting(
        key="trust",
        parse=choose(*PROTECTIVE["trust"]),
        legal="ask, auto or off; a repository's file cannot say off",
        default=AUTO,
        help="Whether you are asked about commands that the repository brings: always, on a terminal, or never.",
    ),
)
