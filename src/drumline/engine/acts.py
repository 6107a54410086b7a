"""Performs a step's commands through the ports: `intend` says what is recorded before, `perform` what came of it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TypeVar

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core.advance import Orders
from drumline.core.prompt import Brief, write_prompt
from drumline.core.roles import Role, find_role
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.subject import write_subject
from drumline.core.taxonomy import Failure
from drumline.engine.kit import Kit
from drumline.errors import GitError
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.ports.processes import Job, Processes

T = TypeVar("T")

MOST_MESSAGE = 8_000
SETUP = "setup"


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """Events for the step's stream and for the run's, recorded together."""

    step: list[ev.Event] = field(default_factory=list)
    run: list[ev.Event] = field(default_factory=list)

    def then(self, other: Note) -> Note:
        """Both notes, in order."""
        return Note(step=[*self.step, *other.step], run=[*self.run, *other.run])


@dataclass(frozen=True, kw_only=True, slots=True)
class Acts:
    """The hands of one walk: the step it is about and the tools for it."""

    kit: Kit
    processes: Processes
    agent: Agent
    orders: Orders
    run: RunState

    async def intend(self, command: cmd.Command, state: StepState) -> Note:
        """What has to be in the journal before the command is performed."""
        step = self.orders.step.id
        match command:
            case cmd.Restart(round=number):
                return Note(step=[ev.StepRestarted(round=number)])
            case cmd.Prepare():
                self._pinned_text()  # a slow setup must not let an edit slip in under the old text's name
                base = await self.kit.workspaces.head()
                path = str(self.kit.workspaces.path(step))
                return Note(step=[ev.WorkspaceAssigned(path=path, base=base)])
            case cmd.Attempt():
                started = ev.AttemptStarted(
                    node=command.node,
                    attempt=command.attempt,
                    tree=_known(state.tree),
                    tier=command.tier,
                    delay=command.delay,
                )
                return Note(step=[started])
            case cmd.RunCheck(number=number, check=check):
                started_check = ev.CheckStarted(check=number, command=check.command, tree=_known(state.tree))
                return Note(step=[started_check])
            case cmd.Land():
                return await self._intend_landing(state)
            case cmd.Park(gate=gate, opens=opens):
                return Note(step=[ev.StepReleased(reason=f"gate {gate}")], run=[opens] if opens else [])
            case cmd.Finish():
                return await self._intend_finish(command, state)
            case _:
                raise AssertionError(f"{command!r} is not a step's command")

    async def perform(self, command: cmd.Command, state: StepState) -> Note:
        """Do it, and say what came of it."""
        match command:
            case cmd.Prepare():
                return Note(step=[await self._prepare(state)])
            case cmd.Attempt():
                return Note(step=[await self._attempt(command, state)])
            case cmd.RunCheck():
                return Note(step=[await self._check(command, state)])
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

    async def _intend_finish(self, command: cmd.Finish, state: StepState) -> Note:
        files: dict[str, str] = {}
        if state.base is not None and state.tree is not None:
            with contextlib.suppress(GitError):  # for lack of a list of files no landed step becomes a blocked one
                changed = await self.kit.workspaces.changed(state.base, state.tree)
                files = {_readable(path): kind for path, kind in changed.items()}
        checks = len(self.orders.checks)
        passed = sum(1 for number in range(checks) if state.proves(number))
        total = checks + len(self.orders.step.not_run)
        landed = state.landed if command.state == "done" else None
        finished = ev.StepFinished(
            step=self.orders.step.id,
            state=command.state,
            reason=command.reason[:MOST_MESSAGE],
            rejected=command.rejected,
            commit=landed.commit if landed else None,
            tree=landed.tree if landed else None,
            proved=bool(landed and total and passed == total and landed.tree == state.tree),
            attempts=state.attempts,
            fixes=state.fixes,
            checks_passed=passed,
            checks_total=total,
            files=tuple(files),
            created=tuple(path for path, kind in files.items() if kind == "created"),
            deleted=tuple(path for path, kind in files.items() if kind == "deleted"),
            usage=state.usage,
        )
        return Note(step=[ev.StepReleased(reason=command.state)], run=[finished])

    async def _prepare(self, state: StepState) -> ev.Event:
        step = self.orders.step.id
        base = _known(state.base)
        tree = await self.kit.workspaces.prepare(step, base)
        setup = self.run.begun.setup
        if not setup:
            return ev.WorkspaceReady(tree=tree)
        ended = await self.processes.run(
            Job(
                argv=["bash", "-c", setup],
                cwd=self.kit.workspaces.path(step),
                log=self.kit.log(step, f"{SETUP}.log"),
                timeout=self.kit.check_timeout,
            )
        )
        if ended.exit_code != 0:
            why = ended.message or f"exit code {ended.exit_code}"
            return ev.WorkspaceFailed(reason=f"setup command failed ({why}): {setup}")
        return ev.WorkspaceReady(tree=await self.kit.workspaces.snapshot(step, base=base))

    async def _attempt(self, command: cmd.Attempt, state: StepState) -> ev.Event:
        step, base = self.orders.step.id, _known(state.base)
        if command.delay:
            await self.kit.clock.sleep(command.delay)
        began = self.kit.clock.now()
        outcome = await self.agent.work(self._assignment(command, state))
        tree = await self.kit.workspaces.snapshot(step, base=base)
        await self.kit.workspaces.keep(step, str(command.attempt), tree, base=base)
        role = find_role(self.orders.step.role)
        if role is not None and not role.capability.writes and tree != state.tree:
            outcome, tree = await self._undo(role, state), _known(state.tree)
        return ev.AttemptEnded(
            node=command.node,
            attempt=command.attempt,
            tree=tree,
            failure=outcome.failure,
            message=outcome.message[:MOST_MESSAGE],
            seconds=round(max(0.0, self.kit.clock.now() - began), 3),
            usage=outcome.usage,
        )

    async def _undo(self, role: Role, state: StepState) -> Outcome:
        """A role that may only read has written: its changes are kept by ref, and undone."""
        await self.kit.workspaces.restore(self.orders.step.id, _known(state.tree))
        message = f"the role {role.name} may only read, but files were changed; the changes were undone"
        return Outcome(failure=Failure.VALIDATION.value, message=message)

    def _assignment(self, command: cmd.Attempt, state: StepState) -> Assignment:
        step = self.orders.step
        role = find_role(step.role)
        brief = Brief(
            step=step,
            text=self._pinned_text(),
            plan_title=self.run.plan.title or self.run.plan.name,
            checks=self.orders.checks,
            attempt=command.attempt,
            context=self.run.begun.context,
            feedback=state.feedback,
            complaint=state.complaint,
            comment=command.comment,
            role=role.briefing if role else "",
            fresh=state.fresh,
        )
        prompt = write_prompt(brief)
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
            timeout=_shorter(self.kit.agent_timeout, role.minutes * 60.0 if role else None),
        )

    def _pinned_text(self) -> str:
        """The step's text as it was when work on it began: an edit in mid-work counts only after its gate."""
        step = self.orders.step
        folder = self.kit.logs / step.id
        name = blake2b(step.text_digest.encode(), digest_size=4).hexdigest()
        kept = folder / f"step-{name}.md"
        if not kept.exists():
            folder.mkdir(parents=True, exist_ok=True)
            kept.write_text(self.kit.planfiles.text(step), encoding="utf-8")
        return kept.read_text(encoding="utf-8")

    async def _check(self, command: cmd.RunCheck, state: StepState) -> ev.Event:
        step, tree = self.orders.step.id, _known(state.tree)
        log = self.kit.log(step, f"check-{state.attempts}-{command.number + 1}.log")
        job = Job(
            argv=["bash", "-c", command.check.command],
            cwd=self.kit.workspaces.path(step),
            log=log,
            timeout=self.kit.check_timeout,
        )
        ended = await self.processes.run(job)
        output = ended.output
        if ended.timed_out:
            output += f"\n(stopped after {self.kit.check_timeout:g} s)"
        return ev.CheckEnded(
            check=command.number,
            command=command.check.command,
            tree=tree,
            tree_after=await self.kit.workspaces.snapshot(step, base=_known(state.base)),
            exit_code=124 if ended.timed_out else ended.exit_code,
            seconds=round(ended.seconds, 3),
            output=(output or ended.message)[-MOST_MESSAGE:],
            log=log.name,
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
        return ev.LandingRefused(reason=landing.refusal)


def _known(value: T | None) -> T:
    if value is None:
        raise AssertionError("the table of a step's life lets this be known by now")
    return value


def _shorter(one: float | None, other: float | None) -> float | None:
    given = [limit for limit in (one, other) if limit is not None]
    return min(given, default=None)


def _readable(path: str) -> str:
    """A path as the journal can hold it: bytes that are no UTF-8 are shown as replacement characters."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
