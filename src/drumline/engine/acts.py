"""Performs a step's commands through the ports: `intend` says what is recorded before, `perform` what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar
from uuid import uuid4

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core import gates
from drumline.core.advance import Orders
from drumline.core.checkfailure import CheckFailure
from drumline.core.ids import Tree
from drumline.core.judge import Touched
from drumline.core.leftovers import sort_changes
from drumline.core.products import MOST_WALKED
from drumline.core.prompt import Brief, write_prompt
from drumline.core.roles import Capability, Role, find_role
from drumline.core.routing import plan_rest, spell_agent
from drumline.core.schedule import list_remarks
from drumline.core.spending import add_up, count_attempt, count_usage
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.subject import write_subject
from drumline.core.taxonomy import Failure
from drumline.engine.agent_call import MOST_MESSAGE, AgentCall, cut_notices, open_worker
from drumline.engine.checking import run_check
from drumline.engine.comparing import Comparison, look_for_judges
from drumline.engine.figures import add_figures
from drumline.engine.finishing import spell_path, write_end
from drumline.engine.kit import Kit, Tools, Worker
from drumline.engine.salvage import explain_unreadable, list_ignored, read_work
from drumline.errors import ChildKilled
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.processes import Job
from drumline.record import Record, field, replace

T = TypeVar("T")

SHORT = 12
"""Digits of a commit that are told: git finds it by them."""
SETUP = "setup"


class Note(Record):
    """Events for the step's stream and for the run's, recorded together."""

    step: list[ev.Event] = field(default_factory=list)
    run: list[ev.Event] = field(default_factory=list)

    def then(self, other: Note) -> Note:
        """Both notes, in order."""
        return Note(step=[*self.step, *other.step], run=[*self.run, *other.run])


async def forget(event: ev.Event) -> None:
    """Nobody keeps it."""


class Acts(Record):
    """The hands of one walk: the step it is about and the tools for it.

    `note` records what is known before an act is over.
    """

    kit: Kit
    tools: Tools
    orders: Orders
    run: RunState
    note: Callable[[ev.Event], Awaitable[None]] = forget

    async def intend(self, command: cmd.Command, state: StepState) -> Note:
        """What has to be in the journal before the command is performed."""
        step = self.orders.step.id
        match command:
            case cmd.Restart(round=number):
                return Note(step=[ev.StepRestarted(round=number)])
            case cmd.Recheck(round=number):
                return Note(step=[ev.StepRechecked(round=number)])
            case cmd.Prepare():
                # A slow setup must not let an edit slip in under the old text's name.
                self.kit.read_pinned(self.orders.step)
                base = await self.kit.workspaces.head()
                path = str(self.kit.workspaces.path(step))
                return Note(step=[ev.WorkspaceAssigned(path=path, base=base)])
            case cmd.Attempt():
                return Note(step=[_intend_attempt(command, state)])
            case cmd.RunCheck(number=number, check=check):
                started_check = ev.CheckStarted(check=number, command=check.command, tree=_known(state.tree))
                return Note(step=[started_check])
            case cmd.Compare(against=against):
                return Note(step=[ev.ComparisonStarted(against=against)])
            case cmd.Land():
                return await self._intend_landing(state)
            case cmd.Park(gate=gate, opens=opens):
                return Note(step=[ev.StepReleased(reason=f"gate {gate}")], run=[opens] if opens else [])
            case cmd.Defer(until=until, reason=reason):
                deferred = ev.StepDeferred(step=step, until=until, reason=reason[:MOST_MESSAGE])
                return Note(step=[ev.StepReleased(reason="quota", until=until)], run=[deferred])
            case cmd.Release(reason=reason):
                return Note(step=[ev.StepReleased(reason=reason[:MOST_MESSAGE])])
            case cmd.Finish():
                finished = await write_end(command, state, self.orders, run=self.run, workspaces=self.kit.workspaces)
                return Note(step=[ev.StepReleased(reason=command.state)], run=[add_figures(finished, state)])
            case _:
                raise AssertionError(f"{command!r} is not a step's command")

    async def perform(self, command: cmd.Command, state: StepState) -> Note:
        """Do it, and say what came of it."""
        match command:
            case cmd.Prepare():
                return Note(step=[await self._prepare(state)])
            case cmd.Attempt():
                return await self._attempt(command, state)
            case cmd.RunCheck():
                return Note(step=[await self._check(command, state)])
            case cmd.Compare(against=against, checks=checks):
                return Note(step=[await self._comparison(state).make(against, checks)])
            case cmd.Land():
                return Note(step=[await self._land(state)])
            case _:
                return Note()

    async def _intend_landing(self, state: StepState) -> Note:
        step = self.orders.step
        tree, base = _known(state.tree), _known(state.base)
        subject = write_subject(self.run.begun.subject, self.run.plan, step)
        commit = await self.kit.workspaces.commit(step.id, tree, base=base, message=subject)
        head = state.landing_head or await self.kit.workspaces.head()
        return Note(step=[ev.LandingStarted(commit=commit, tree=tree, head=head)])

    async def _prepare(self, state: StepState) -> ev.Event:
        step = self.orders.step.id
        base = _known(state.base)
        tree = await self.kit.workspaces.prepare(step, base)
        setup = self.run.begun.setup
        if not setup:
            return ev.WorkspaceReady(tree=tree)
        ended = await self.tools.processes.run(
            Job(
                argv=["bash", "-c", setup],
                cwd=self.kit.workspaces.path(step),
                log=self.kit.log(step, f"{SETUP}.log"),
                timeout=self.kit.check_timeout,
            )
        )
        if ended.killed:
            raise ChildKilled(f"the setup command {setup}")
        if ended.exit_code != 0:
            why = ended.message or f"exit code {ended.exit_code}"
            return ev.WorkspaceFailed(reason=f"setup command failed ({why}): {setup}")
        made = await self.kit.workspaces.snapshot(step, base=base)
        if made != tree:  # what is on no branch is gone once the user prunes the repository
            await self.kit.workspaces.keep(step, SETUP, made, base=base)
        return ev.WorkspaceReady(tree=made, ignored=await list_ignored(self.kit.workspaces, step, most=MOST_WALKED))

    async def _attempt(self, command: cmd.Attempt, state: StepState) -> Note:
        """Let an agent work, and keep what it left, whatever came of it."""
        step, base, before = self.orders.step.id, _known(state.base), state.tree
        if command.delay:
            await self.kit.clock.sleep(command.delay)
        began = self.kit.clock.now()
        outcome = await self._ask(command, state)
        if outcome.failure == Failure.KILLED.value:
            await self._keep_usage(outcome.usage, round(max(0.0, self.kit.clock.now() - began), 3))
            raise ChildKilled(f"the agent: {outcome.message[:MOST_MESSAGE]}")
        work = await read_work(self.kit.workspaces, step, base=base)
        tree = work.tree
        kept = await self.kit.workspaces.keep(step, str(command.attempt), tree, base=base)
        if work.unreadable:
            message = explain_unreadable(work.unreadable, kept=kept[:SHORT])
            outcome, tree = await self._undo(message, outcome, state), _known(before)
        if outcome.failure and tree != before:
            left = f"what attempt {command.attempt} had changed is kept: git show {kept[:SHORT]}"
            outcome = replace(outcome, notices=(left, *outcome.notices))
        role = find_role(self.orders.step.role)
        writes = role is None or role.capability.writes
        if role is not None and not writes and tree != before:
            message = f"the role {role.name} may only read, but files were changed; the changes were undone"
            outcome, tree = await self._undo(message, outcome, state), _known(before)
        ended = ev.AttemptEnded(
            node=command.node,
            attempt=command.attempt,
            tree=tree,
            failure=outcome.failure,
            message=outcome.message[:MOST_MESSAGE],
            seconds=round(max(0.0, self.kit.clock.now() - began), 3),
            usage=outcome.usage,
            source=outcome.source,
            session=outcome.session,
            question="" if outcome.failure else outcome.question[:MOST_MESSAGE],
            resets_at=self._rest(outcome, state),
            unchanged=writes and tree == before and not outcome.failure and not outcome.question,
            notices=cut_notices(outcome.notices),
            touched=await self._look_for_judges(state, tree),
            ignored=await list_ignored(self.kit.workspaces, step, before=state.ignored),
        )
        return Note(step=[ended], run=self._count(command, state, ended))

    async def _ask(self, command: cmd.Attempt, state: StepState) -> Outcome:
        worker = open_worker(self.tools.open_agent, spell_agent(self.run, command.agent))
        call = AgentCall(
            agent=worker.agent,
            model=worker.model,
            price=self.kit.price,
            now=self.kit.clock.now,
            keep=self._keep_usage,
            name_session=self._name_session,
        )
        return await call.make(self._assignment(command, state, worker))

    async def _name_session(self, session: str) -> None:
        await self.note(ev.SessionOpened(session=session))

    async def _keep_usage(self, usage: Mapping[str, float], seconds: float) -> None:
        await self.note(ev.AttemptUsed(usage=usage, seconds=seconds))

    def _rest(self, outcome: Outcome, state: StepState) -> float | None:
        """When an agent out of quota is asked again."""
        if outcome.failure != Failure.QUOTA.value:
            return None
        return plan_rest(outcome.resets_at, rests=state.rests, now=self.kit.clock.now())

    def _count(self, command: cmd.Attempt, state: StepState, ended: ev.AttemptEnded) -> list[ev.Event]:
        total = add_up((state.spent.get(command.agent, {}), count_attempt(ended.usage)))
        return [*count_usage(self.orders.step.id, command.agent, total)]

    async def _undo(self, message: str, outcome: Outcome, state: StepState) -> Outcome:
        """What was changed cannot stay: it is kept by ref, and undone; the agent's session knows not."""
        await self.kit.workspaces.restore(self.orders.step.id, _known(state.tree))
        return replace(outcome, failure=Failure.VALIDATION.value, message=message, session="")

    def _assignment(self, command: cmd.Attempt, state: StepState, worker: Worker) -> Assignment:
        step = self.orders.step
        role = find_role(step.role)
        prompt = self._write_prompt(command, state, role)
        prompt_file = self.kit.log(step.id, f"prompt-{command.attempt}.md")
        prompt_file.write_text(prompt, encoding="utf-8")
        return Assignment(
            run=self.run.id,
            step=step.id,
            node=command.node,
            attempt=command.attempt,
            prompt=prompt,
            prompt_file=prompt_file,
            workspace=self.kit.workspaces.path(step.id),
            log=self.kit.log(step.id, f"attempt-{command.attempt}.log"),
            tier=command.tier,
            model=worker.model,
            timeout=_shorter(self.kit.agent_timeout, role.minutes * 60.0 if role else None),
            read_only=role is not None and role.capability is Capability.READ_ONLY,
            session=command.session,
            new_session=_known(state.asked).new_session,
            idle=self.kit.agent_idle,
            budget=command.budget,
            answers=tuple((asked.removeprefix(gates.introduce(step)), said) for asked, said in command.answers),
        )

    def _write_prompt(self, command: cmd.Attempt, state: StepState, role: Role | None) -> str:
        step = self.orders.step
        brief = Brief(
            step=step,
            text=self.kit.read_pinned(step),
            plan_title=self.run.plan.title or self.run.plan.name,
            checks=self.orders.checks,
            attempt=command.attempt,
            context=self.run.begun.context,
            feedback=state.feedback,
            complaint=state.complaint,
            comment=command.comment,
            role=role.briefing if role else "",
            fresh=state.fresh,
            answers=command.answers,
            cut_short=state.cut_short,
            remarks=list_remarks(self.run),
        )
        return write_prompt(brief)

    async def _check(self, command: cmd.RunCheck, state: StepState) -> ev.Event:
        step, tree = self.orders.step.id, _known(state.tree)
        log = self.kit.log(step, f"check-{state.attempts}-{command.number + 1}.log")
        if command.delay:
            await self.kit.clock.sleep(command.delay)
        found = await run_check(
            command.check.command,
            self.tools.processes,
            folder=self.kit.workspaces.path(step),
            log=log,
            timeout=self.kit.check_timeout,
            files=self.orders.step.files,
        )
        if found.cause is not None and found.cause.failure is CheckFailure.KILLED:
            raise ChildKilled(f"the check {command.check.command}")
        changes = await self.kit.workspaces.clean(step, tree, base=_known(state.base))
        left = sort_changes((spell_path(path), kind) for path, kind in changes.items())
        return ev.CheckEnded(
            check=command.number,
            command=command.check.command,
            tree=tree,
            tree_after=tree,
            exit_code=found.exit_code,
            seconds=round(found.seconds, 3),
            output=found.output,
            log=log.name,
            failure=found.cause.failure.value if found.cause else "",
            evidence=found.cause.evidence if found.cause else "",
            created=left.created,
            altered=left.altered,
            left=found.left,
        )

    async def _look_for_judges(self, state: StepState, tree: Tree) -> tuple[Touched, ...]:
        base, ready = _known(state.base), _known(state.ready)
        return await look_for_judges(self.orders, self.kit.workspaces, base=base, tree=tree, ready=ready)

    def _comparison(self, state: StepState) -> Comparison:
        return Comparison(
            kit=self.kit,
            processes=self.tools.processes,
            orders=self.orders,
            before=_known(state.ready),
            after=_known(state.tree),
            touched=state.touched,
        )

    async def _land(self, state: StepState) -> ev.Event:
        step = self.orders.step.id
        commit, head = _known(state.candidate), _known(state.landing_head)
        landing = await self.kit.workspaces.land(step, commit, head=head)
        if landing.commit is not None:
            return ev.StepLanded(
                commit=landing.commit,
                tree=_known(landing.tree),
                merged=landing.merged,
                adopted=landing.adopted,
            )
        if landing.conflicts:
            named = ", ".join(landing.conflicts[:5])
            reason = f"its changes conflict with what landed meanwhile in {named}"
            return ev.LandingRefused(reason=reason, conflicts=landing.conflicts)
        return ev.LandingRefused(reason=landing.refusal, retry=landing.moved)


def _intend_attempt(command: cmd.Attempt, state: StepState) -> ev.AttemptStarted:
    """The attempt as it begins; a session that is begun with it gets its id here, so that a crash leaves it known."""
    return ev.AttemptStarted(
        node=command.node,
        attempt=command.attempt,
        tree=_known(state.tree),
        tier=command.tier,
        delay=command.delay,
        agent=command.agent,
        session=command.session,
        new_session="" if command.session else str(uuid4()),
        budget=command.budget,
    )


def _known(value: T | None) -> T:
    if value is None:
        raise AssertionError("the table of a step's life lets this be known by now")
    return value


def _shorter(one: float | None, other: float | None) -> float | None:
    given = [limit for limit in (one, other) if limit is not None]
    return min(given, default=None)
