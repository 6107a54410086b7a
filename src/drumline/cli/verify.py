"""`drumline verify`: proves again what a run says that it proved, and names the first difference."""

from __future__ import annotations

from contextlib import closing

import anyio
import click

from drumline.app.catalog import find_run
from drumline.app.inbox import check_step
from drumline.app.naming import find_step
from drumline.app.verify import Compared, Verification
from drumline.cli.completing import complete_steps
from drumline.cli.options import json_option, run_argument
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.core.ids import RunId, StepId, Stream
from drumline.core.plaintext import count_noun
from drumline.core.runfold import fold_run
from drumline.core.state import RunState
from drumline.core.verification import Difference, Landed
from drumline.errors import StoreError
from drumline.record import Record, asdict, replace
from drumline.store.sqlite import SqliteStore
from drumline.views.cells import flatten
from drumline.wiring import Project, open_project
from drumline.wiring.verifiers import open_verifier

DIFFERS, NOT_ALL = 1, 2


class Found(Record):
    """What came of it."""

    steps: tuple[Compared, ...]

    @property
    def difference(self) -> Difference | None:
        """The first difference; None if there is none."""
        return next((step.difference for step in self.steps if step.difference), None)

    @property
    def code(self) -> int:
        """The exit code."""
        if self.difference is not None:
            return DIFFERS
        return NOT_ALL if any(step.left for step in self.steps) else 0


@click.command("verify")
@run_argument
@click.argument("step", required=False, default="", shell_complete=complete_steps)
@click.option("--no-checks", is_flag=True, help="Compare only what is recorded; execute nothing.")
@json_option
def command(run: str, step: str, no_checks: bool, as_json: bool) -> int:
    """Prove RUN (the newest if not given), or one STEP of it, again: without agents, in fresh places.

    A single word that is a step of the newest run means that step.

    Compares the journal with the seals in its commits, commits and branch with git, logs with their digests, and runs
    every check again on the tree that landed. Ends with 1 at the first difference, and with 2 if something could not
    be compared here.
    """
    project = open_project()
    project.check_speaker()
    with closing(project.open_store(read_only=True)) as store:
        damage = store.find_damage()
        if damage:
            raise StoreError(f"the journal is damaged: {damage[0]}", hint="drumline doctor")
        state, step = _choose(store, run, step)
        only = check_step(state, step) if step else None
        plain = Verification(store=store, run=state, repository=project.repository, logs=project.logs(state.id))
        found = anyio.run(_verify, project, store, plain, only, (no_checks, as_json))
    if as_json:
        print_json(_spell(state, found))
    elif found.difference is None:
        click.echo(_sum_up(found))
    return found.code


def _choose(store: SqliteStore, run: str, step: str) -> tuple[RunState, str]:
    """The run and the step that are meant: one word alone may be a step of the newest run.

    The run is folded from the journal itself: a checkpoint could hide what was changed in it.
    """
    newest = _fold(store, find_run(store))
    if run and not step and find_step(newest.plan, run) is not None:
        return newest, run
    return (_fold(store, find_run(store, run)) if run else newest), step


def _fold(store: SqliteStore, run: RunId) -> RunState:
    return fold_run(RunState(id=run), [recorded.event for recorded in store.read(Stream(run))])


async def _verify(
    project: Project, store: SqliteStore, plain: Verification, only: StepId | None, shape: tuple[bool, bool]
) -> Found:
    no_checks, as_json = shape
    steps = plain.list_steps(only)
    if no_checks:
        return await _compare(plain, steps, as_json=as_json)
    # A run of another name: the one that is verified does not look driven meanwhile.
    driver = project.roster.join(RunId(f"verify-{plain.run.id}"))
    verifier = open_verifier(project, store, plain.run, driver)
    try:
        return await _compare(replace(plain, run_again=verifier.run_again), steps, as_json=as_json)
    finally:
        with anyio.CancelScope(shield=True):
            await verifier.services.workspaces.drop_released()
        project.roster.leave(driver)


async def _compare(verification: Verification, steps: list[Landed], *, as_json: bool) -> Found:
    found: list[Compared] = []
    for landed in steps:
        found.append(await verification.compare(landed))
        if not as_json:
            _tell(found[-1])
        if found[-1].difference is not None:
            break
    return Found(steps=tuple(found))


def _tell(compared: Compared) -> None:
    if compared.difference is not None:
        click.echo(f"differs: {flatten(str(compared.difference))}")
        return
    again = sum(1 for one in compared.checks if not one.left)
    told = ["commit", f"logs: {compared.logs}", *([f"checks run again: {again}"] if again else [])]
    click.echo(f"{compared.step}: the same ({', '.join(told)})")
    for left in compared.left:
        say(f"  not compared: {flatten(left)}")


def _sum_up(found: Found) -> str:
    whole = "" if found.code == 0 else "; not everything could be compared here"
    verb = "is" if len(found.steps) == 1 else "are"
    return f"{count_noun(len(found.steps), 'landed step')} {verb} as the journal says{whole}"


def _spell(run: RunState, found: Found) -> dict[str, object]:
    differs = found.difference
    return {
        "schema_version": SCHEMA_VERSION,
        "ok": found.code == 0,
        "run": run.id,
        "difference": asdict(differs) if differs is not None else None,
        "steps": [
            {
                "step": step.step,
                "same": step.difference is None,
                "logs": step.logs,
                "checks": [{"command": one.command, "seconds": one.seconds, "left": one.left} for one in step.checks],
                "not_compared": list(step.left),
            }
            for step in found.steps
        ],
    }
