"""The state of one step, as `stepfold.py` computes it from its stream, and what it says about the work's judge."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core import events as ev
from drumline.core.attempts import Attempts
from drumline.core.checkfailure import is_work
from drumline.core.findings import Found
from drumline.core.foul import Judged
from drumline.core.ids import NO_DRIVER, Commit, DriverId, StepId, Tree
from drumline.core.judge import Touched
from drumline.core.learned import Fix
from drumline.core.lessons import read_remedy, settle
from drumline.core.life import Phase
from drumline.core.mutants import Mutation
from drumline.core.proof import Against, Compared
from drumline.core.spending import COST
from drumline.core.strays import NOTHING, Foreign, Strayed
from drumline.core.tally import Tally
from drumline.core.taxonomy import Failure
from drumline.record import Record, State, field


class CheckResult(State):
    """The latest result of one check since the last attempt, how often it ran, and whether it came to both results."""

    ended: ev.CheckEnded
    runs: int = 1
    flaky: bool = False


class Clash(Record):
    """What work does not fit to: the steps that landed `since` its former base, the files that both sides changed."""

    since: tuple[StepId, ...] = ()
    conflicts: tuple[str, ...] = ()


class StepState(Attempts):
    """Everything a step's stream says, with the attempts of the present round.

    `asked` is the latest attempt. `notices` are what was remarkable about its attempts, `coming` conflicts that were
    foreseen, `ignored` files that git ignores and that were there before them, `fingerprints` of those that the plan
    names.

    Figures of all rounds never shrink: `reached` is the highest number of an attempt that began, `readings` are those
    that could change nothing and do not count, with their nodes (`read_in` is the phase before the last of them),
    `lost` counts those that were cut short, `usage` and `spent` (by agent) what all of them used; `fixes` are of this
    round, `fixes_before` of those before. `kills` counts work lost in a row because something was killed, `killed` says
    what that was last. `metered` is what the attempt under way has used so far. `unread` are the places and nodes of
    this walk whose agents could change nothing and gave no usable answer last.

    `touched` are the files of the judge that the work has changed, `warned` says that its agent was told so,
    `doubted` that it was asked why it reports that the work is not done, `strayed` what the work changes beside the
    files of its step, `overstepped` that its agent was told so, `sharing` are the landed steps that share a file with
    the work, `superseding` says that its agent was told which of their checks it breaks, and
    `compared` is what checks, by their numbers, say about other trees; `shown` what they said about the tree that the
    work began with, where it stands on another base by now. `mutants` are those of the work that were tried.

    `moved` is how the work came to its present base if that is not the one it began with, `joined` whether that
    happened since the last attempt; `change` is then the work as that left it, on the commit `origin`.
    `integrations` counts the attempts at work that failed only together with what landed meanwhile; they use up no fix.
    `clash` is what the latest attempt was told of that, `earlier` what had landed when it was about to land before.
    `timeouts` counts attempts whose time was up, `passing` are the checks that pass since the last of them.

    `reviews` counts attempts at what reviewers found, which use up no fix either; `reviewed` is the last look of one,
    `findings` are what was found since the work began, by id, and `numbered` counts those of all rounds;
    `swept` is the last look for edge cases, `handed` what an agent wrote last for the handoff.

    `mending` are the failing checks that the latest attempt was told of, `learned` what came of such attempts,
    `given` the lessons that it has.
    `seen` is, by command, the tree that each check judged last and whether it passed there; `tallies` are its figures.
    """

    version: int = 0
    phase: Phase = Phase.WAITING
    round: int = 0
    driver: DriverId = NO_DRIVER
    base: Commit | None = None
    workspace: str = ""
    tree: Tree | None = None
    ready: Tree | None = None
    ignored: tuple[str, ...] = ()
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    fresh: bool = True
    attempts: int = 0
    reached: int = 0
    readings: dict[int, str] = field(default_factory=dict)
    unread: dict[tuple[str, str], str] = field(default_factory=dict)
    read_in: Phase = Phase.WORKED
    lost: int = 0
    fixes: int = 0
    fixes_before: int = 0
    kills: int = 0
    killed: str = ""
    asked: ev.AttemptStarted | None = None
    last: ev.AttemptEnded | None = None
    verdicts: dict[int, CheckResult] = field(default_factory=dict)
    seen: dict[str, tuple[Tree, bool]] = field(default_factory=dict)
    tallies: dict[str, Tally] = field(default_factory=dict)
    touched: tuple[Touched, ...] = ()
    warned: bool = False
    doubted: bool = False
    strayed: Strayed = NOTHING
    overstepped: bool = False
    sharing: tuple[StepId, ...] = ()
    superseding: bool = False
    compared: dict[Against, dict[int, Compared]] = field(default_factory=dict)
    shown: dict[int, Compared] = field(default_factory=dict)
    mutants: Mutation | None = None
    moved: ev.WorkRebased | None = None
    joined: bool = False
    change: Commit | None = None
    origin: Commit | None = None
    integrations: int = 0
    reviews: int = 0
    reviewed: ev.WorkReviewed | None = None
    findings: dict[str, Found] = field(default_factory=dict)
    numbered: int = 0
    swept: ev.WorkSwept | None = None
    handed: ev.HandoffWritten | None = None
    timeouts: int = 0
    passing: tuple[str, ...] = ()
    clash: Clash | None = None
    earlier: tuple[StepId, ...] = ()
    feedback: tuple[ev.CheckEnded, ...] = ()
    mending: tuple[ev.CheckEnded, ...] = ()
    learned: tuple[Fix, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    complaint: str = ""
    trouble: str = ""
    landing_head: Commit | None = None
    candidate: Commit | None = None
    refused: ev.LandingRefused | None = None
    landed: ev.StepLanded | None = None
    seconds: float = 0.0
    usage: dict[str, float] = field(default_factory=dict)
    spent: dict[str, dict[str, float]] = field(default_factory=dict)
    metered: ev.AttemptUsed | None = None
    notices: tuple[str, ...] = ()
    coming: tuple[Foreign, ...] = ()

    @property
    def about(self) -> int:
        """The attempt whose work this is: who only read it since has not changed it."""
        return self.last.attempt if self.last else self.attempts

    def note_answer(self, event: ev.AttemptEnded) -> None:
        """Remember whether an agent that may only read gave an answer that can be used."""
        place = (event.scope, event.node)
        self.unread.pop(place, None)
        if event.failure and not event.waits:
            self.unread[place] = event.node

    def list_unread(self) -> tuple[str, ...]:
        """The nodes whose agents gave no usable answer."""
        return tuple(dict.fromkeys(self.unread.values()))

    @property
    def tried(self) -> int:
        """How many attempts at the work there were in all rounds."""
        return self.reached - len(self.readings)

    @property
    def all_fixes(self) -> int:
        """Fixes of this round and of those before."""
        return self.fixes_before + self.fixes

    @property
    def failure(self) -> Failure | None:
        """The class of failure the last attempt ended with, if it failed."""
        return Failure(self.last.failure) if self.last and self.last.failure else None

    @property
    def ran_dry(self) -> bool:
        """Whether the last attempt ended because it had spent what it was given: its agent could continue with more."""
        given = self.asked.budget if self.asked else None
        if self.last is None or self.failure is not Failure.QUOTA or given is None:
            return False
        return self.last.usage.get(COST, 0.0) >= given

    @property
    def at_first(self) -> Mapping[int, Compared]:
        """What checks say about the tree that the work began with."""
        return {**self.compared.get(Against.BASE, {}), **self.shown}

    @property
    def conflicts(self) -> tuple[str, ...]:
        """Files with conflict markers that nobody has looked at since they were found."""
        if self.refused is not None and self.refused.conflicts:
            return self.refused.conflicts
        return self.moved.conflicts if self.joined and self.moved else ()

    def find_clash(self) -> Clash | None:
        """What the work does not fit to, if that alone keeps it from landing, until it passes together with it."""
        together = (self.joined or self.clash is not None) and bool(self.faults())
        if not together and not self.conflicts:
            return None
        return Clash(since=self.since, conflicts=self.conflicts)

    @property
    def since(self) -> tuple[StepId, ...]:
        """What landed since the base of the work, also before the attempts that were to let it pass together."""
        told = self.clash.since if self.clash else ()
        return tuple(dict.fromkeys((*self.earlier, *told, *(self.moved.since if self.moved else ()))))

    def failing(self) -> tuple[ev.CheckEnded, ...]:
        """Checks that did not pass on the tree as it is, in order."""
        return tuple(v.ended for _, v in sorted(self.verdicts.items()) if v.ended.failed)

    def faults(self) -> tuple[ev.CheckEnded, ...]:
        """Failing checks that say something about the work: those that go back to the agent."""
        return tuple(ended for ended in self.failing() if is_work(ended.failure))

    @property
    def hindered(self) -> ev.CheckEnded | None:
        """The first check that could not be run for a reason that is not the work's, where no other one fails."""
        failing = self.failing()
        return failing[0] if failing and not self.faults() else None

    def settle_fix(self) -> tuple[Fix, ...]:
        """What came of the latest attempt, if it was to put failing checks right and they have judged it since."""
        if not self.mending or self.last is None or self.last.failure:
            return ()
        judged = (verdict.ended for _, verdict in sorted(self.verdicts.items()))
        passed = {ended.command: not ended.failed for ended in judged if not ended.failed or is_work(ended.failure)}
        remedy = read_remedy(self.last.message, self.last.report)
        return tuple(settle(self.mending, passed, remedy, self.given))

    def void(self) -> tuple[ev.CheckEnded, ...]:
        """Checks that count as tried and prove nothing: they changed the tree, or judged another one."""
        return tuple(v.ended for _, v in sorted(self.verdicts.items()) if v.ended.is_void)

    @property
    def judged(self) -> Judged:
        """What is known about the work and what judges it."""
        ended = {number: verdict.ended for number, verdict in self.verdicts.items()}
        first = {n: one for n, one in self.at_first.items() if n not in ended or ended[n].command == one.command}
        return Judged(touched=self.touched, ended=ended, compared={**self.compared, Against.BASE: first})

    def proves(self, check: int) -> bool:
        """Whether the check passed on exactly the tree as it is now, and left it alone."""
        found = self.verdicts.get(check)
        if found is None or found.ended.exit_code != 0 or found.ended.is_void:
            return False
        # What a formatter was run on is not there any more; it speaks for what it left.
        same = found.ended.tree == found.ended.tree_after or bool(found.ended.formatted)
        return same and found.ended.tree_after == self.tree
