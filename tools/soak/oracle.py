"""The oracle: looks at a repository after its run with git and the journal, and says what must not be.

The rule: it believes no view of the program. What landed is read from the run branch, what was said from the journal,
what is left from the file system and the process table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from tools.soak.belongings import Belongings, find_losses, take_merge
from tools.soak.journal import CODES, Record, read_records
from tools.soak.machine import TRACEBACK as TRACEBACK_WORDS
from tools.soak.machine import Machine
from tools.soak.planwriting import SHARED, find_file, is_shared
from tools.soak.processlist import find_processes
from tools.soak.scenario import DISKS, FLOW, TASK
from tools.soak.strikes import wait_until
from tools.soak.verdict import BROKEN, DOUBLED, LEFTOVER, LOST, STALLED, TRACEBACK, WRONG, Finding

HEALTH = (
    ("fsck", "--no-dangling", "--no-progress"),
    ("branch", "-a"),
    ("log", "--all", "--oneline"),
    ("worktree", "list"),
    ("status", "--porcelain"),
    ("gc", "--quiet"),
)
"""What the user's git has to be able to do."""
MARKS = {"dag": ("{step}.md", "done"), "phased": ("steps/{step}-*.md", "complete")}
"""Where formats that have a place for it say that a step is done."""
UNMARKED = frozenset({"user-stash", "user-rebase", "user-clean", *DISKS})
"""Faults after which the plan may be one that was never marked."""
GONE_WITHIN = 30.0
"""Seconds in which a process may still end after its driver."""
TOGETHER = 1.0
"""Seconds within which drivers end together: a run that ends ends all of them."""
CODES_OF_COMMANDS = frozenset({0, 1, 2, 3, 130})


def judge(machine: Machine, belongings: Belongings, injected: Collection[str] = ()) -> list[Finding]:
    """Everything that is wrong with a machine whose run has come to its end after these faults."""
    records = read_records(machine.store)
    found = [*judge_runs(machine, records)]
    for record in records:
        if machine.scenario.format == FLOW:
            found += [*judge_delivery(machine, record)]
            continue
        found += [*judge_landings(machine, record, given_up=belongings.branch_given_up)]
        found += [*judge_marks(machine, record, injected)]
        if machine.scenario.format == TASK:
            found += [*judge_merge(machine, record, belongings)]
    found += [Finding(kind=LOST, text=text) for text in find_losses(machine, belongings)]
    found += [*judge_leftovers(machine), *judge_git(machine), *judge_words(machine)]
    return found


def judge_runs(machine: Machine, records: list[Record]) -> Iterator[Finding]:
    """One run, at an end, and the last driver's exit code says which."""
    if not records:
        yield Finding(kind=LOST, text="the journal has no run")
        return
    if beside := count_beside(records):
        yield Finding(kind=DOUBLED, text=f"the plan was started once and has {beside + 1} runs")
    record = records[-1]
    if record.state == "interrupted":
        yield Finding(kind=STALLED, text="the journal tells neither an end nor a question")
    elif record.state != "done":
        yield Finding(kind=STALLED, text=f"the run ended as {record.state}: {record.reason}")
    if (code := machine.call("wait", "--timeout", "60").code) != CODES.get(record.state):
        yield Finding(kind=WRONG, text=f"the run is {record.state} and `drumline wait` ends with {code}")
    codes = read_last_codes(machine)
    if codes and CODES.get(record.state) not in codes:
        yield Finding(kind=WRONG, text=f"the run is {record.state} and its last drivers ended with {codes}")


def count_beside(records: Sequence[Record]) -> int:
    """How many runs were begun beside one that was not over. A driver that starts after a cancel begins a new run."""
    return sum(not (one.state == "cancelled" and one.ended_at < other.first) for one, other in pairwise(records))


def read_last_codes(machine: Machine) -> list[int]:
    """The exit codes of the drivers that ended last, as closely as it was seen; those that were killed have none."""
    ended = [started for started in machine.started if not started.is_alive and not started.was_refused]
    last = max((started.ended for started in ended), default=0.0)
    codes = [started.process.returncode for started in ended if last - started.ended < TOGETHER]
    return [code for code in codes if code >= 0]


def judge_landings(machine: Machine, record: Record, *, given_up: bool) -> Iterator[Finding]:
    """Every step that is said to have landed is on the branch once, and nothing else is."""
    tip = machine.ask_git("rev-parse", "--verify", "--quiet", f"refs/heads/{record.branch}^{{commit}}")
    if given_up or not tip:
        if not given_up:
            yield Finding(kind=LOST, text=f"the run branch {record.branch} is gone")
        tip = machine.ask_git("rev-parse", "--verify", "--quiet", f"refs/drumline/{record.run}/@head^{{commit}}")
    if not tip:
        return
    on_branch = set(machine.ask_git("rev-list", f"{record.base}..{tip}").split())
    trailers = machine.ask_git("log", "--format=%(trailers:key=Drumline-Step,valueonly)", f"{record.base}..{tip}")
    commits = Counter(trailers.split())
    for step in machine.scenario.steps:
        finish = record.finished.get(step.id)
        done = finish is not None and finish.state == "done"
        wanted = (1 if done else 0) + record.redone.get(step.id, 0)
        changes = machine.ask_git("rev-list", f"{record.base}..{tip}", "--", find_file(step.id)).split()
        times = max(commits[step.id], len(changes))
        if times > wanted:
            what = f"{step.id} is on the branch {times} times and {'done' if done else 'not done'} by the journal"
            yield Finding(kind=DOUBLED, text=what)
        if finish is not None and done:
            if finish.commit not in on_branch:
                yield Finding(kind=LOST, text=f"{step.id} is said to have landed as {finish.commit}, not on the branch")
            yield from _judge_work(machine, tip, step.id)


def judge_merge(machine: Machine, record: Record, belongings: Belongings) -> Iterator[Finding]:
    """What a task landed is merged into the user's branch: files, index and branch, all of it."""
    commit = next((finish.commit for finish in record.finished.values() if finish.state == "done"), "")
    if record.state != "done" or not commit:
        return
    if machine.git("merge-base", "--is-ancestor", commit, "HEAD").code != 0:
        yield Finding(kind=STALLED, text=f"the task is done, and {commit} is not merged")
        return
    take_merge(machine, belongings, commit)
    if changed := machine.ask_git("status", "--porcelain", "--untracked-files=no"):
        yield Finding(kind=BROKEN, text=f"the merge left the checkout changed: {changed[:200]}")


def judge_delivery(machine: Machine, record: Record) -> Iterator[Finding]:
    """What a flow made is one commit on its branch, and every visit was concluded once."""
    for visit, times in record.visits.items():
        if times > 1:
            yield Finding(kind=DOUBLED, text=f"the visit {visit} was concluded {times} times")
    if record.state != "done":
        return
    tip = machine.ask_git("rev-parse", "--verify", "--quiet", f"refs/heads/{record.branch}^{{commit}}")
    commits = machine.ask_git("rev-list", f"{record.base}..{tip}").split() if tip else []
    if len(commits) != 1:
        kind = DOUBLED if commits else LOST
        yield Finding(kind=kind, text=f"the work of the flow is {len(commits)} commits on {record.branch!r}")
    for step in machine.scenario.steps:
        lines = machine.ask_git("show", f"{tip}:{find_file(step.id)}").splitlines()
        if tip and not any(line.startswith(f"ok {step.id} ") for line in lines):
            yield Finding(kind=LOST, text=f"the flow is done, and {find_file(step.id)} has no line of {step.id}")


def judge_marks(machine: Machine, record: Record, injected: Collection[str]) -> Iterator[Finding]:
    """The plan calls done what is done, unless the user has put another plan there or its disk was closed."""
    form = machine.scenario.format
    if form not in MARKS or record.state != "done" or not UNMARKED.isdisjoint(injected):
        return
    pattern, word = MARKS[form]
    for step, finish in record.finished.items():
        for path in machine.plan.glob(pattern.format(step=step)):
            if finish.state == "done" and f"\nstatus: {word}" not in path.read_text(encoding="utf-8"):
                yield Finding(kind=LOST, text=f"{step} is done, and {path.name} does not say so")


def _judge_work(machine: Machine, tip: str, step: str) -> Iterator[Finding]:
    """The step's lines in the tree: there, and none of an attempt that was played twice."""
    for name in (find_file(step), *([SHARED] if is_shared(machine.scenario) else [])):
        lines = machine.ask_git("show", f"{tip}:{name}").splitlines()
        right = [line for line in lines if line.startswith(f"ok {step} ")]
        if not right:
            yield Finding(kind=LOST, text=f"{step} is said to have landed, and {name} has no line of it")
        attempts = Counter(" ".join(line.split()[:4]) for line in lines if line.split()[1:2] == [step])
        for attempt, times in attempts.items():
            if times > 1:
                yield Finding(kind=DOUBLED, text=f"{name} has the line {attempt!r} {times} times")


def judge_git(machine: Machine) -> Iterator[Finding]:
    """The user's git works, and no lock file of a dead git is left."""
    for words in HEALTH:
        said = machine.git(*words)
        if said.code != 0:
            yield Finding(kind=BROKEN, text=f"git {' '.join(words)}: {said.err.strip()[:300]}")
    for lock in sorted((machine.repo / ".git").rglob("*.lock")):
        if "drumline" not in lock.relative_to(machine.repo / ".git").parts[:1]:
            yield Finding(kind=BROKEN, text=f"the lock file {lock.relative_to(machine.repo)} is left")


def judge_leftovers(machine: Machine) -> Iterator[Finding]:
    """No process, worktree, temporary folder or dead driver is left."""
    wait_until(lambda: not find_processes(machine.folder), patience=GONE_WITHIN)
    for role, pids in find_processes(machine.folder).items():
        yield Finding(kind=LEFTOVER, text=f"a process is left: {role} {pids}")
    own = {str(machine.repo), str(machine.folder / "desk")}
    listed = machine.ask_git("worktree", "list", "--porcelain").splitlines()
    for line in listed:
        if line.startswith("worktree ") and line.removeprefix("worktree ") not in own:
            yield Finding(kind=LEFTOVER, text=f"git still lists {line}")
    for place in find_leftovers(machine):
        yield Finding(kind=LEFTOVER, text=f"{place.relative_to(machine.folder)} is left")


def find_leftovers(machine: Machine) -> Iterator[Path]:
    """Files and folders that have no use once no driver is alive."""
    yield from sorted((machine.folder / "tmp").iterdir())
    yield from sorted((machine.repo / ".git" / "drumline" / "drivers").glob("*"))
    worktrees = machine.folder / "home" / "state" / "drumline"
    yield from sorted(path for path in worktrees.glob("*/worktrees/*/*") if path.is_dir())
    plans = machine.repo / "plans"
    yield from sorted(path for path in plans.rglob("*") if path.name.startswith(".") or path.suffix == ".tmp")


def judge_words(machine: Machine) -> Iterator[Finding]:
    """No command ends with a traceback, or with a code that no page knows."""
    for started in machine.started:
        words, code = started.read(), started.process.returncode
        if TRACEBACK_WORDS in words:
            text = words[words.index(TRACEBACK_WORDS) :].strip().splitlines()[-1]
            yield Finding(kind=TRACEBACK, text=f"drumline {' '.join(started.argv)}: {text}")
        if code is not None and code >= 0 and code not in CODES_OF_COMMANDS:
            yield Finding(kind=WRONG, text=f"drumline {' '.join(started.argv)} ended with {code}")
    for said in machine.calls:
        if TRACEBACK_WORDS in said.out + said.err:
            yield Finding(kind=TRACEBACK, text=f"{' '.join(said.argv)}: {said.err.strip().splitlines()[-1]}")
        if said.code < 0:
            yield Finding(kind=STALLED, text=f"{' '.join(said.argv[2:])} did not end or was killed: {said.err[-200:]}")
