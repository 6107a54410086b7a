"""A board that listens to keys: choose and open rows, read logs, diffs and reasons, answer gates, pause.

The rule: a key changes what is shown, or leaves a message in the run's inbox as the command of that name does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import click

from drumline.app.catalog import read_run
from drumline.app.inbox import check_pause, name_person, put_message
from drumline.app.look import Watcher
from drumline.cli.gateprompt import choose_comment
from drumline.cli.logs import read_lines
from drumline.core.events import GateOpened
from drumline.core.gates import check_reply
from drumline.core.ids import RunId, StepId
from drumline.errors import DrumlineError, InvalidInput
from drumline.ports.journal import Message
from drumline.record import replace
from drumline.store.sqlite import SqliteStore
from drumline.views.board import board_segments
from drumline.views.cells import Row, flatten
from drumline.views.evidence import evidence_lines
from drumline.views.focus import NO_FOCUS, Entry, Focus, Panel, count_shown, move, scroll, toggle
from drumline.views.gates import list_choices, split_question
from drumline.views.snapshot import Snapshot
from drumline.views.why import why
from drumline.wiring import Project

PAGE = 10


@dataclass(kw_only=True)
class Desk:
    """One person at one board. `store` is read, `inbox` gives one that takes messages."""

    project: Project
    run: RunId
    look: Callable[[StepId | None], Snapshot]
    store: SqliteStore
    inbox: Callable[[], AbstractContextManager[SqliteStore]]
    focus: Focus = NO_FOCUS
    quitted: bool = False
    _page: int = PAGE

    def draw(self, snapshot: Snapshot, width: int, height: int, tick: int) -> list[Row]:
        """The board with what is chosen on it."""
        if self.focus.panel is not None:  # a page skips no line that was not shown
            self._page = max(1, min(PAGE, count_shown(self.focus.panel, width, height)))
        return board_segments(snapshot, width=width, height=height, tick=tick, focus=self.focus)

    def press(self, key: str, snapshot: Snapshot) -> None:
        """Do what a key is for; a refusal is shown in the line of the keys."""
        try:
            if self.focus.entry is not None:
                self._type(key, self.focus.entry)
            elif self.focus.panel is not None:
                self._scroll(key)
            else:
                self._choose(key, snapshot)
        except DrumlineError as error:
            self.focus = replace(self.focus, note=error.with_hint)

    def _choose(self, key: str, snapshot: Snapshot) -> None:
        steps = [step.id for step in snapshot.run.selected()]
        page = {
            "up": -1,
            "k": -1,
            "down": 1,
            "j": 1,
            "pgup": -PAGE,
            "pgdn": PAGE,
            "home": -len(steps),
            "end": len(steps),
        }
        match key:
            case _ if key in page:
                self.focus = move(self.focus, steps, page[key])
            case "enter" | "o":
                self.focus = toggle(self.focus)
            case "a":
                self._begin_answer(snapshot)
            case "l" | "d" | "w":
                self._show(key, snapshot)
            case "p":
                self._pause(snapshot)
            case "q":
                self.quitted = True
            case _:
                self.focus = replace(self.focus, note="")

    def _scroll(self, key: str) -> None:
        page = self._page
        by = {"up": -1, "k": -1, "down": 1, "j": 1, "enter": 1, "pgup": -page, "pgdn": page, " ": page, "b": -page}
        if key in ("q", "esc"):
            self.focus = replace(self.focus, panel=None)
        elif key in by:
            self.focus = scroll(self.focus, by[key])

    # --- reading ------------------------------------------------------------------------------------------------

    def _show(self, key: str, snapshot: Snapshot) -> None:
        step = self.focus.selected or next(iter(snapshot.owners), None)
        if step is None and key != "w":
            self.focus = replace(self.focus, note="choose a step first: ↑ ↓")
            return
        if key == "w":
            title, lines = f"why {step or ''}".rstrip(), self._explain(step)
        elif step is not None and key == "l":
            run = read_run(self.store, self.run)
            title, lines = f"logs {step}", read_lines(self.project, self.store, run, step)
        else:
            title, lines = f"diff {step}", self._compare(step or StepId(""), snapshot)
        plain = tuple(click.unstyle(line).replace("\x1b", "") for line in lines) or ("nothing yet",)
        self.focus = replace(self.focus, panel=Panel(title=title, lines=plain), note="")

    def _explain(self, step: StepId | None) -> list[str]:
        found = why(self.look(step), step or "")
        checks = [line for check in found.checks if check.was_run for line in evidence_lines(check)]
        return [found.sentence, *(f"  {line}" for line in (*found.notes, *checks)), f"  next: {found.hint}"]

    def _compare(self, step: StepId, snapshot: Snapshot) -> list[str]:
        from drumline.workspace.differences import read_difference

        finished = snapshot.run.finished.get(step)
        commit = finished.commit if finished is not None else None
        place = why(self.look(step), step).worktree
        return read_difference(self.project.repository, self.run, step, commit=commit, worktree=place)

    # --- speaking -----------------------------------------------------------------------------------------------

    def _send(self, message: Message) -> None:
        self.project.check_speaker()
        with self.inbox() as store:
            put_message(store, self.run, message)

    def _pause(self, snapshot: Snapshot) -> None:
        check_pause(snapshot.run, driven=bool(snapshot.live))
        self._send(Message(kind="pause", by=name_person(), channel="board"))
        self.focus = replace(self.focus, note="")  # the board itself says that the run is being paused

    def _begin_answer(self, snapshot: Snapshot) -> None:
        opened = self._find_gate(snapshot)
        if opened is None:
            self.focus = replace(self.focus, note="no gate is open")
            return
        headline, details = split_question(opened)
        entry = Entry(gate=opened.gate, question=(headline, *details, list_choices(opened)))
        self.focus = replace(self.focus, entry=entry, note="")

    def _find_gate(self, snapshot: Snapshot) -> GateOpened | None:
        """The gate of the chosen step, else the first that is open."""
        asked = [gate.opened for gate in snapshot.run.open_gates if gate.opened.gate not in snapshot.answers]
        own = [opened for opened in asked if opened.step == self.focus.selected]
        return next(iter([*own, *asked]), None)

    def _type(self, key: str, entry: Entry) -> None:
        if key == "esc":
            self.focus = replace(self.focus, entry=None)
        elif key == "backspace":
            self.focus = replace(self.focus, entry=replace(entry, typed=entry.typed[:-1]))
        elif key == "enter":
            self._enter(entry)
        elif len(key) == 1:
            self.focus = replace(self.focus, entry=replace(entry, typed=entry.typed + key))

    def _enter(self, entry: Entry) -> None:
        """Take the answer, then ask for its comment if it has one; send both."""
        gate = self.look(None).run.unanswered.get(entry.gate)
        if gate is None:
            self.focus = replace(self.focus, entry=None, note=f"{entry.gate} was answered meanwhile")
            return
        try:
            answer = entry.answer or entry.typed
            check_reply(gate.opened, answer, entry.typed if entry.answer else None)
        except InvalidInput as error:
            self.focus = replace(self.focus, entry=replace(entry, complaint=str(error), typed=""))
            return
        asks = "" if entry.answer else choose_comment(gate.opened, answer)
        if asks:
            self.focus = replace(self.focus, entry=replace(entry, prompt=asks, answer=answer, typed="", complaint=""))
            return
        comment = entry.typed if entry.answer else ""
        self._send(
            Message(kind="answer", subject=entry.gate, value=answer, comment=comment, by=name_person(), channel="board")
        )
        self.focus = replace(self.focus, entry=None, note=f"answered {entry.gate}: {flatten(answer)}")


def open_desk(
    project: Project,
    store: SqliteStore,
    watcher: Watcher,
    *,
    inbox: Callable[[], AbstractContextManager[SqliteStore]],
    keys: bool,
) -> Desk:
    """A person at the board of a run; `keys` says whether what is pressed reaches this process."""
    return Desk(
        project=project,
        run=watcher.run,
        store=store,
        look=lambda step: watcher.look(time.time(), also=step),
        inbox=inbox,
        focus=Focus(keys=keys),
    )
