"""What one scenario is made of: a plan, a way to run it, and the faults that are injected while it runs.

The rule: a scenario is a pure function of its seed and its number, so that one that failed can be played again. The
moments at which processes are struck are the same; what exactly they are doing then is up to the machine.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

FORMATS = ("dag", "dag", "dag", "linear", "phased", "implement", "maestro", "waves")
"""`dag` comes more often: it is the native format, and the only one with arbitrary needs and manual items."""
TASK, FLOW = "task", "flow"
"""Not formats of plans, but other kinds of runs: `do --merge` with a task of one step, `flow run --worktree`."""
LINEAR = frozenset({"linear", "implement", FLOW})
MOST_FAULTS = 10

KILLS = (
    "kill-driver",
    "kill-supervisor",
    "kill-agent",
    "kill-check",
    "kill-git",
    "kill-git-and-driver",
    "kill-both-in-update-ref",
    "kill-both-in-worktree",
    "kill-both-in-merge",
    "power-cut",
)
STOPS = ("stop-driver", "stop-supervisor", "stop-agent", "stop-git", "stop-git-kill-driver")
DISKS = ("full-disk", "read-only-disk")
USERS = (
    "user-commit",
    "user-switch",
    "user-rebase",
    "user-gc",
    "user-clean",
    "user-stash",
    "user-edit",
    "branch-moved",
    "branch-reset",
    "branch-deleted",
    "branch-squashed",
    "branch-rebased",
    "branch-checked-out",
)
DRIVERS = ("two-starts", "join")
WISHES = ("answer", "retry", "skip", "cancel", "interrupt")
KINDS: tuple[str, ...] = (*KILLS, *STOPS, *DISKS, *USERS, *DRIVERS, *WISHES)
ALONE = frozenset({*KILLS, *STOPS, "interrupt", "user-gc"})
"""Faults that are also injected into tasks and flows; a user who moves on keeps a task from being merged."""
MIXED = "mixed"
CROWD = "crowd"
"""Several drivers share the run from its start, while people join, answer, retry, skip, cancel and interrupt."""
CROWDED = ("join", "answer", "answer", "retry", "skip", "cancel", "interrupt", "kill-driver")
THEMES = (*KINDS, MIXED, CROWD)
SHORT = (CROWD, "two-starts", MIXED, "stop-git-kill-driver", "kill-both-in-merge", MIXED, MIXED)
"""The themes of a short soak, in turn: starts at once and drivers that join come first, so that they are played."""
TOGETHER = 0.25
"""Seconds within which drivers are started that start at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """One step: what it needs, how many of its first attempts are wrong, and how long its agent takes."""

    id: str
    needs: tuple[str, ...] = ()
    wrong: int = 0
    seconds: float = 0.2
    manual: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """Something that is done to the run `after` so many seconds; `amount` is how long it lasts where it lasts.

    `choice`, from 0 to 1, picks the target among those there are.
    """

    kind: str
    after: float
    amount: float
    choice: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """One repository with one plan, and what happens to it."""

    seed: int
    number: int
    theme: str
    format: str
    steps: tuple[Work, ...]
    mode: str
    autonomy: str
    jobs: int
    agent: str
    tracked: bool
    drivers: int
    apart: float
    """Seconds between the starts of the drivers that begin."""
    faults: tuple[Fault, ...]

    @property
    def name(self) -> str:
        """What `--only` takes to play it again, behind `--seed`."""
        return f"{self.seed}/{self.number}"

    @property
    def is_plan(self) -> bool:
        """Whether it is the run of a plan, which a second start joins."""
        return self.format not in (TASK, FLOW)

    @property
    def needs_mount(self) -> bool:
        """Whether a disk of its own has to be mounted for it."""
        return any(fault.kind in DISKS for fault in self.faults)


def draw_scenario(seed: int, number: int, kinds: Sequence[str] = KINDS, *, themes: Sequence[str] = ()) -> Scenario:
    """The scenario of this number; its theme is the next of `themes`, or else of the order that the seed shuffles."""
    chances = random.Random(f"{seed}/{number}")
    theme = themes[number % len(themes)] if themes else choose_theme(seed, number, kinds)
    form = choose_format(chances, theme)
    steps = draw_steps(chances, form)
    return Scenario(
        seed=seed,
        number=number,
        theme=theme,
        format=form,
        steps=steps,
        mode=chances.choice(("parallel", "parallel", "sequential")),
        autonomy=draw_autonomy(chances, theme),
        jobs=chances.randint(1, 4),
        agent=chances.choice(("scripted", "scripted", "command")),
        tracked=chances.random() < 0.75,
        drivers=draw_drivers(chances, theme),
        apart=round(chances.uniform(0.0, TOGETHER / 2), 3),
        faults=draw_faults(chances, theme, kinds),
    )


def choose_format(chances: random.Random, theme: str) -> str:
    """The format of the plan; every fourth run of some themes is a task, and every fourth a flow."""
    if theme == "kill-both-in-merge":
        return TASK
    kind = chances.choice((TASK, FLOW, "", "")) if theme in ALONE else ""
    return kind or chances.choice(FORMATS)


def choose_theme(seed: int, number: int, kinds: Sequence[str]) -> str:
    """Every kind comes once in a round, in an order that the seed shuffles; so do mixtures and crowds, half as many."""
    rounds = [*kinds, *([MIXED] * (len(kinds) // 3)), *([CROWD] * (len(kinds) // 6))]
    random.Random(f"{seed}/order/{number // len(rounds)}").shuffle(rounds)
    return rounds[number % len(rounds)]


def draw_autonomy(chances: random.Random, theme: str) -> str:
    """How often a person is asked; in a crowd there is something to answer."""
    if theme == CROWD:
        return chances.choice(("critical", "verbose", "verbose"))
    return chances.choice(("autopilot", "autopilot", "critical", "verbose"))


def draw_drivers(chances: random.Random, theme: str) -> int:
    """How many drivers begin: several where that is the theme, and in every third mixture."""
    if theme in ("two-starts", CROWD):
        return chances.randint(2, 3)
    return chances.choice((1, 1, 2)) if theme == MIXED else 1


def draw_steps(chances: random.Random, form: str) -> tuple[Work, ...]:
    """Three to twelve steps, of which each needs some of those before it; every third fails its check once."""
    count = chances.randint(3, 12) if chances.random() < 0.3 else chances.randint(3, 6)
    count = 1 if form == TASK else min(count, 4) if form == FLOW else count
    names = [name_step(form, number) for number in range(1, count + 1)]
    waves = draw_waves(chances, names)
    steps = []
    for place, name in enumerate(names):
        steps.append(
            Work(
                id=name,
                needs=draw_needs(chances, form, names[:place], waves),
                wrong=1 if chances.random() < 0.3 else 0,
                seconds=round(chances.uniform(0.05, 0.6), 2),
                manual="look at it" if form == "dag" and chances.random() < 0.15 else "",
            )
        )
    return tuple(steps)


def name_step(form: str, number: int) -> str:
    """The id that the format gives the step with this number."""
    names = {"dag": f"step-{number}", "linear": f"phase-{number}", "phased": f"{number:02}", "waves": f"c{number}"}
    return {**names, TASK: "do"}.get(form, str(number))


def draw_waves(chances: random.Random, names: Sequence[str]) -> dict[str, int]:
    """The wave of each step, in their order."""
    wave = 0
    waves: dict[str, int] = {}
    for name in names:
        wave += 1 if waves and chances.random() < 0.5 else 0
        waves[name] = wave
    return waves


def draw_needs(chances: random.Random, form: str, before: Sequence[str], waves: dict[str, int]) -> tuple[str, ...]:
    """What a step needs: the one before it, all of the waves before its own, or up to two of those before it."""
    if form in LINEAR:
        return tuple(before[-1:])
    if form == "waves":
        own = list(waves)[len(before)]
        return tuple(name for name in before if waves[name] < waves[own])
    return tuple(sorted(chances.sample(list(before), min(len(before), chances.randint(0, 2)))))


def draw_faults(chances: random.Random, theme: str, kinds: Sequence[str]) -> tuple[Fault, ...]:
    """The faults of a scenario in their order: all of its theme, or of any kind."""
    drawn = _list_faults(theme, kinds)
    many = chances.randint(4, MOST_FAULTS) if theme in (MIXED, CROWD, *KILLS) else chances.randint(2, 5)
    faults = []
    for _ in range(many):
        kind = chances.choice(drawn)
        after = chances.uniform(0.05, 0.6 if theme == CROWD else 1.5)
        amount = chances.uniform(0.1, 4.0)
        faults.append(Fault(kind=kind, after=round(after, 3), amount=round(amount, 3), choice=chances.random()))
    return tuple(faults)


def _list_faults(theme: str, kinds: Sequence[str]) -> Sequence[str]:
    """What the faults of a theme are drawn from; two starts are drawn as drivers, not as faults in mid-run."""
    if theme == MIXED:
        return [kind for kind in kinds if kind not in ("two-starts", "kill-both-in-merge")] or kinds
    if theme == CROWD:
        return [kind for kind in CROWDED if kind in kinds] or kinds
    return (theme,)
