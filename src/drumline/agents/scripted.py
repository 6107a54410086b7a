"""An agent that plays a file, for demos, docs and tests. The rule: it never touches anything outside its workspace."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from drumline.agents.command import describe, judge
from drumline.agents.kills import add_left
from drumline.agents.patching import apply_patch
from drumline.agents.script import Act, Script, read_script
from drumline.core.taxonomy import Failure
from drumline.errors import GitKilled, InvalidInput
from drumline.isolation.containment import contain
from drumline.ports.agents import Agent, Assignment, Happening, Outcome
from drumline.ports.processes import Job, Processes
from drumline.record import Record, replace

MOST_TOLD = 500
"""Characters of what it did last that are told when its time is up."""
Say = Callable[[str], None]


class ScriptedAgent(Record):
    """Plays the act that its script has for an assignment; keeps nothing between assignments."""

    script: Script
    processes: Processes

    async def work(self, assignment: Assignment) -> Outcome:
        """Play the act that fits: sleep, patch, write, delete, run, then say, ask or fail."""
        say = _open_transcript(assignment.log)
        if assignment.session:
            say(f"continue with session {assignment.session}")
        act = self.script.choose(
            assignment.step, assignment.node, assignment.attempt, scope=assignment.scope, visit=assignment.visit
        )
        if act is None:
            outcome = Outcome(failure=Failure.PERMANENT.value, message=_unmatched(assignment))
        else:
            if act.session:
                await assignment.report(Happening(kind="session", text=act.session))
            if act.usage:  # told as it begins, so that an act that is cut short has its cost
                await assignment.report(Happening(kind="usage", usage=act.usage))
            outcome = replace(await self._play_in_time(act, assignment, say), session=act.session)
        say(f"failed ({outcome.failure}): {outcome.message}" if outcome.failure else outcome.message)
        return outcome

    async def _play_in_time(self, act: Act, assignment: Assignment, say: Say) -> Outcome:
        done: list[str] = []

        def note(text: str) -> None:
            done.append(text)
            say(text)

        with anyio.move_on_after(assignment.timeout):
            return await self._play(act, assignment, note)
        doing = f"; the last thing it did: {done[-1][:MOST_TOLD]}" if done else "; it had done nothing yet"
        message = f"timed out after {assignment.timeout:g} s{doing}"
        return Outcome(failure=Failure.TIMEOUT.value, message=message, usage=act.usage)

    async def _play(self, act: Act, assignment: Assignment, say: Say) -> Outcome:
        if act.sleep:
            say(f"sleep {act.sleep:g}")
            await anyio.sleep(act.sleep)
        try:
            if act.patch:
                say("patch" if await apply_patch(act.patch, assignment.workspace) else "patch: its changes are here")
            _change_files(act, assignment.workspace, say)
        except GitKilled as error:
            return Outcome(failure=Failure.KILLED.value, message=str(error), usage=act.usage)
        except (OSError, InvalidInput) as error:
            return Outcome(failure=Failure.PERMANENT.value, message=str(error), usage=act.usage)
        ran = await self._run(act, assignment, say) if act.run else Outcome()
        if ran.failure:
            return ran
        if act.failure is not None:
            resets_at = None if act.resets_in is None else time.time() + act.resets_in
            message = act.message or act.say
            return Outcome(failure=act.failure.value, message=message, usage=act.usage, resets_at=resets_at)
        return Outcome(message=act.say, question=act.ask, usage=act.usage, notices=ran.notices)

    async def _run(self, act: Act, assignment: Assignment, say: Say) -> Outcome:
        """Run the act's command.

        Its output has a file of its own, because whoever runs it may begin that file anew; the transcript has the end.
        """
        say(f"run {act.run}")
        job = Job(
            argv=("bash", "-c", act.run),
            cwd=assignment.workspace,
            log=assignment.log.with_name(assignment.log.name + ".run"),
            env=describe(assignment),
            timeout=assignment.timeout,
        )
        ended = await self.processes.run(job)
        if ended.output:
            say(ended.output.rstrip("\n"))
        if ended.exit_code == 0 and not ended.timed_out:
            return add_left(Outcome(), ended)
        judged = judge(ended, timeout=assignment.timeout)
        final = ended.exit_code is None and not ended.timed_out
        failure = Failure.PERMANENT if final else Failure.VALIDATION
        if judged.failure in (Failure.KILLED.value, Failure.TIMEOUT.value):
            failure = Failure(judged.failure)
        message = judged.message
        return replace(judged, failure=failure.value, message=f"{act.run!r}: {message}", usage=act.usage)


def open_scripted(argument: str, *, processes: Processes, base: Path) -> Agent:
    """The agent that plays the file `argument`, relative to `base`; raises InvalidInput with all its problems."""
    return ScriptedAgent(script=read_script(base / argument), processes=processes)


def _open_transcript(log: Path) -> Say:
    """Something that adds lines to the log at once, so that a transcript is there even if we die."""
    log.parent.mkdir(parents=True, exist_ok=True)

    def say(line: str) -> None:
        with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(line + "\n")

    return say


def _unmatched(assignment: Assignment) -> str:
    place = f"step {assignment.step!r}, node {assignment.node!r}, attempt {assignment.attempt}"
    return f"the script has no rule for {place} and no default"


def _change_files(act: Act, workspace: Path, say: Say) -> None:
    for path, content in act.write.items():
        target = contain(workspace, path, through=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode())
        say(f"write {path}")
    for path in act.delete:
        _delete(contain(workspace, path, through=False))
        say(f"delete {path}")


def _delete(target: Path) -> None:
    """Take away a file, link or folder; one that is gone already is fine, an attempt may be played again."""
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
