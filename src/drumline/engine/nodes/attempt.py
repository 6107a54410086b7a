"""Attempts of agents at a step. The rule: what an agent leaves is kept, whatever came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn, TypeVar
from uuid import uuid4

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core.attempts import count_for_agent
from drumline.core.blocked import OFFER
from drumline.core.flow.model import AgentNode
from drumline.core.flow.templates import list_references, render_strict
from drumline.core.flow.values import overlay
from drumline.core.gitdeeds import NO_DEEDS, GitDeeds
from drumline.core.hunks import Hunk, cut_hunks
from drumline.core.ids import StepId, Tree
from drumline.core.judge import Touched
from drumline.core.learned import Lesson
from drumline.core.plan import Step
from drumline.core.prompt import Brief, write_history, write_prompt, write_task
from drumline.core.roles import Capability, find_role
from drumline.core.routing import plan_timer, spell_agent
from drumline.core.spending import add_up, count_attempt, count_usage
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.strays import NOTHING, Foreign, Strayed
from drumline.core.taskreport import read_report
from drumline.core.taxonomy import Failure
from drumline.core.waves import list_remarks
from drumline.engine.agent_call import MOST_MESSAGE, AgentCall, cut_notices, open_worker
from drumline.engine.handoffs import list_earlier, list_handoffs, list_others, number_step
from drumline.engine.nodes.beside import work_beside
from drumline.engine.nodes.compare import look_for_judges
from drumline.engine.nodes.deeds import add_branch, note_moved
from drumline.engine.nodes.review import describe_reviewed
from drumline.engine.nodes.stepwork import Note, StepWork, known
from drumline.engine.nodes.strays import foresee_conflicts, look_round
from drumline.engine.nodes.visit import Visit
from drumline.engine.products import find_present, list_ignored
from drumline.engine.salvage import explain_unreadable, read_work
from drumline.engine.services import Worker
from drumline.errors import ChildKilled
from drumline.ports.agents import Assignment, Outcome
from drumline.record import Record, replace

SHORT = 12
"""Digits of a commit that are told: git finds it by them."""
MOST_CONFLICTING = 20
"""Files of which the parts that conflict are shown."""
OWN_FOLDER = ".drumline"
N = TypeVar("N", int, float)


def intend(command: cmd.Attempt, state: StepState) -> Note:
    """The attempt as it begins; a session that is begun with it gets its id here, so that a crash leaves it known."""
    started = ev.AttemptStarted(
        node=command.node,
        attempt=command.attempt,
        tree=known(state.tree),
        tier=command.tier,
        delay=command.delay,
        agent=command.agent,
        session=command.session,
        new_session="" if command.session else str(uuid4()),
        budget=command.budget,
        complaint=command.complaint,
        revises=command.revises,
        doubts=command.doubts,
        oversteps=command.oversteps,
        lessons=command.lessons,
        reviewed=command.reviewed,
        supersedes=command.supersedes,
        scope=command.scope,
        visit=command.visit,
    )
    return Note(step=[started])


def read_complaint(visit: Visit) -> str:
    """What the flow says is wrong with the work: the value `complaint`, where a node of it has written one."""
    said = visit.values.get("complaint")
    return said.strip() if isinstance(said, str) else ""


def write_node_prompt(node: AgentNode, visit: Visit, brief: Brief) -> str:
    """The node's prompt; what people said and what cut attempts short is added if the template does not place it."""
    named = set(list_references(node.prompt))
    history = write_history(brief if "history" in named else replace(brief, feedback=()))
    values = overlay({"initial_prompt": write_task(brief), "history": history}, visit.values)
    parts = [
        render_strict(node.prompt, values).strip(),
        "" if "initial_prompt" in named else OFFER,
        "" if "history" in named else history,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


class Terms(Record):
    """What a node says about its attempts: how their prompts are written, how long one may take, and how many turns."""

    write: Callable[[Brief], str] = write_prompt
    timeout: float | None = None
    turns: int | None = None


async def act(work: StepWork, command: cmd.Attempt, state: StepState, terms: Terms) -> Note:
    """Let an agent work, and keep what it left."""
    return await _Attempt(work=work, terms=terms).make(command, state)


class Kept(Record):
    """What an attempt left. `undone` says why that could not stay, `left` that it is kept although it failed."""

    tree: Tree
    undone: str = ""
    left: str = ""
    touched: tuple[Touched, ...] = ()
    ignored: tuple[str, ...] = ()
    strayed: Strayed = NOTHING
    sharing: tuple[StepId, ...] = ()
    coming: tuple[Foreign, ...] = ()
    git: GitDeeds = NO_DEEDS


async def keep_work(work: StepWork, state: StepState, attempt: int, *, reader: str = "") -> Kept:
    """Keep what is in the workspace under a ref; undo what git cannot read, and what a `reader` has changed."""
    step, workspaces, before, base = work.orders.step.id, work.services.workspaces, known(state.tree), known(state.base)
    deeds = await workspaces.find_deeds(step, base=base)
    found = await read_work(workspaces, step, base=base)
    kept = await workspaces.keep(step, str(attempt), found.tree, base=base)
    undone = explain_unreadable(found.unreadable, kept=kept[:SHORT]) if found.unreadable else ""
    left = f"what attempt {attempt} had changed is kept: git show {kept[:SHORT]}"
    if reader and found.tree != before and not undone:
        undone = f"{reader} may only read, but files were changed; the changes were undone"
    if undone:
        await workspaces.restore(step, before)
    tree = before if undone else found.tree
    reach = await look_round(work, tree, state)
    return Kept(
        tree=tree,
        undone=undone,
        left=left if found.tree != before and not found.unreadable else "",
        touched=await look_for_judges(work.orders, workspaces, base=base, tree=tree, ready=known(state.ready)),
        ignored=await list_ignored(workspaces, work.orders.step, present=find_present(state)),
        strayed=reach.strayed,
        sharing=reach.sharing,
        coming=() if undone or tree in (before, state.ready) else await foresee_conflicts(work, kept),
        git=await add_branch(work, deeds),
    )


def mark_kept(outcome: Outcome, kept: Kept) -> Outcome:
    """The outcome with what became of the work; the session of an agent whose work was undone knows nothing of it."""
    if outcome.failure and kept.left:
        outcome = replace(outcome, notices=(kept.left, *outcome.notices))
    if not kept.undone:
        return outcome
    return replace(outcome, failure=Failure.VALIDATION.value, message=kept.undone, session="")


class _Attempt(Record):
    work: StepWork
    terms: Terms

    async def make(self, command: cmd.Attempt, state: StepState) -> Note:
        """Let an agent work, and keep what it left, whatever came of it."""
        if command.delay:
            await self.work.services.clock.sleep(command.delay)
        began = self.work.services.clock.now()
        outcome = await work_beside(self.work, state, lambda: self._ask(command, state))
        if outcome.failure == Failure.KILLED.value:
            await self._give_up(outcome, self._measure(began))
        reader = self._name_reader()
        kept = await keep_work(self.work, state, command.attempt, reader=reader)
        outcome, tree = mark_kept(outcome, kept), kept.tree
        ended = ev.AttemptEnded(
            node=command.node,
            attempt=command.attempt,
            scope=command.scope,
            visit=command.visit,
            tree=tree,
            failure=outcome.failure,
            message=outcome.message[:MOST_MESSAGE],
            seconds=self._measure(began),
            usage=outcome.usage,
            source=outcome.source,
            model=outcome.model,
            session=outcome.session,
            question="" if outcome.failure else outcome.question[:MOST_MESSAGE],
            permissions=() if outcome.failure else outcome.permissions,
            login=outcome.login,
            resets_at=self._rest(outcome, state),
            unchanged=not reader and tree == state.tree and not outcome.failure and not outcome.question,
            notices=cut_notices(outcome.notices),
            touched=kept.touched,
            ignored=kept.ignored,
            strayed=kept.strayed,
            sharing=kept.sharing,
            coming=kept.coming,
            git=kept.git,
            stuck=outcome.stuck and not outcome.failure,
            wrong=outcome.wrong and not outcome.failure,
            denial="" if outcome.failure else outcome.denial[:MOST_MESSAGE],
            report={} if outcome.failure else read_report(outcome.message),
        )
        return Note(step=[ended], run=[*self._count(command, state, ended), *note_moved(self.work, kept.git)])

    def _measure(self, began: float) -> float:
        return round(max(0.0, self.work.services.clock.now() - began), 3)

    async def _give_up(self, outcome: Outcome, seconds: float) -> NoReturn:
        """Keep what an agent used that somebody killed, and say so."""
        await self._keep_usage(outcome.usage, seconds)
        raise ChildKilled(f"the agent: {outcome.message[:MOST_MESSAGE]}")

    def _name_reader(self) -> str:
        """The role of the step, if it may only read."""
        role = find_role(self.work.orders.step.role)
        return "" if role is None or role.capability.writes else f"the role {role.name}"

    async def _ask(self, command: cmd.Attempt, state: StepState) -> Outcome:
        worker = open_worker(self.work.tools.open_agent, spell_agent(self.work.run, command.agent))
        call = AgentCall(
            agent=worker.agent,
            model=worker.model,
            price=self.work.services.price,
            now=self.work.services.clock.now,
            keep=self._keep_usage,
            name_session=self._name_session,
        )
        prompt = await self._write_prompt(command, state)
        return await call.make(self._assignment(command, state, worker, prompt))

    async def _name_session(self, session: str) -> None:
        await self.work.note(ev.SessionOpened(session=session))

    async def _keep_usage(self, usage: Mapping[str, float], seconds: float) -> None:
        await self.work.note(ev.AttemptUsed(usage=usage, seconds=seconds))

    def _rest(self, outcome: Outcome, state: StepState) -> float | None:
        """When an agent out of quota is asked again."""
        if outcome.failure != Failure.QUOTA.value:
            return None
        return plan_timer(outcome.resets_at, timers=state.timers, now=self.work.services.clock.now())

    def _count(self, command: cmd.Attempt, state: StepState, ended: ev.AttemptEnded) -> list[ev.Event]:
        total = add_up((state.spent.get(command.agent, {}), count_attempt(ended.usage)))
        return [*count_usage(self.work.orders.step.id, command.agent, total)]

    def _assignment(self, command: cmd.Attempt, state: StepState, worker: Worker, prompt: str) -> Assignment:
        step = self.work.orders.step
        role = find_role(step.role)
        prompt_file = self.work.services.log(step.id, f"prompt-{command.attempt}.md")
        prompt_file.write_text(prompt, encoding="utf-8")
        return Assignment(
            run=self.work.run.id,
            step=step.id,
            node=command.node,
            attempt=count_for_agent(state.readings, command.attempt, node=command.node),
            prompt=prompt,
            prompt_file=prompt_file,
            workspace=self.work.services.workspaces.path(step.id),
            log=self.work.services.log(step.id, f"attempt-{command.attempt}.log"),
            tier=command.tier,
            model=worker.model,
            timeout=_least(self.work.services.agent_timeout, role.minutes * 60.0 if role else None, self.terms.timeout),
            read_only=role is not None and role.capability is Capability.READ_ONLY,
            session=command.session,
            new_session=known(state.asked).new_session,
            idle=self.work.services.agent_idle,
            budget=command.budget,
            turns=_least(role.turns if role else None, self.terms.turns),
            answers=command.answers,
            may_ask=True,
            judged=True,
            around=self.work.describe_around(),
            sealed=_list_sealed(self.work),
        )

    async def _write_prompt(self, command: cmd.Attempt, state: StepState) -> str:
        step, run = self.work.orders.step, self.work.run
        agent = (command.agent or run.begun.agent).partition(":")[0]
        brief = replace(
            open_brief(self.work),
            header=number_step(run, step, agent=step.role or agent),
            feedback=state.feedback,
            complaint=state.complaint,
            comment=command.comment,
            fresh=state.fresh,
            answers=command.answers,
            cut_short=state.cut_short,
            passing=state.passing,
            fix=f"{state.fixes} of {self.work.orders.retries}" if state.fixes else "",
            doubts=known(state.asked).doubts,
            lessons=_list_lessons(run, known(state.asked).lessons),
            reviewed=await describe_reviewed(self.work, state),
            hunks=await _list_hunks(self.work, state),
        )
        return self.terms.write(_add_clash(brief, state, run))


async def _list_hunks(work: StepWork, state: StepState) -> list[Hunk]:
    """The parts with conflict markers of files that conflict with what landed meanwhile."""
    if state.clash is None or state.tree is None:
        return []
    read = work.services.workspaces.read_text
    texts = {path: await read(state.tree, path) or "" for path in state.clash.conflicts[:MOST_CONFLICTING]}
    return [hunk for path, text in texts.items() for hunk in cut_hunks(path, text)]


def _list_sealed(work: StepWork) -> tuple[Path, ...]:
    """The plan's files and our own where the checkout is the workspace: elsewhere they are only copies."""
    checkout = work.run.begun.checkout
    if not checkout:
        return ()
    patterns = (OWN_FOLDER, *work.services.planfiles.patterns)
    return tuple(path for pattern in patterns for path in sorted(Path(checkout).glob(pattern)))


def _add_clash(brief: Brief, state: StepState, run: RunState) -> Brief:
    """The brief with what the work does not fit to."""
    if state.clash is None:
        return brief
    titles = [f"{step}: {run.plan.by_id[step].title}" for step in state.clash.since if step in run.plan.by_id]
    return replace(brief, since=tuple(titles), conflicts=state.clash.conflicts)


def _list_lessons(run: RunState, names: Mapping[str, str]) -> tuple[Lesson, ...]:
    """The lessons of these names, as they were when the run began."""
    chosen = set(names.values())
    return tuple(lesson for lesson in run.begun.lessons if lesson.name in chosen)


def open_brief(work: StepWork) -> Brief:
    """What the prompt of a step is made of before its first attempt."""
    step, run = work.orders.step, work.run
    role, planned = find_role(step.role), run.corrections.get(step.id)
    return Brief(
        step=step,
        text=work.services.read_pinned(step),
        plan_title=run.plan.title or run.plan.name,
        checks=work.orders.checks,
        context=_join_context(run, step),
        failed=planned.kept if planned else "",
        role=role.briefing if role else "",
        remarks=list_remarks(run),
        preamble=run.plan.preamble,
        handoffs=list_handoffs(work.services, run, step),
        earlier=list_earlier(run, step),
        others=list_others(run, step),
        reports=work.orders.reports,
    )


def _join_context(run: RunState, step: Step) -> str:
    """What the person said who started the run, and who wants this round of the step."""
    asked = run.reopened.get(step.id)
    return "\n\n".join(part for part in (run.begun.context, asked.context if asked else "") if part)


def _least(*limits: N | None) -> N | None:
    return min((limit for limit in limits if limit is not None), default=None)
