"""Looking at a run that walks a flow: incrementally on fakes, and with the real commands beside a real driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, leaving_nothing, wait_for
from tests.integration.flow_harness import FlowHarness
from tests.integration.harness import RUN, Died
from tests.integration.test_flow_driver import answer, build

from drumline.app.catalog import read_run
from drumline.app.look import Watcher
from drumline.core.flow.model import Flow
from drumline.core.ids import FLOW, RunId, Stream
from drumline.core.recorded import Recorded
from drumline.errors import InvalidInput
from drumline.ports.journal import Message
from drumline.testing.store import MemoryStore
from drumline.views.states import run_state
from drumline.views.status import status_json
from drumline.views.why import why

FILES = {
    "flow.yaml": """\
name: shipping
start: first
initial_state: {items: [a, b]}
nodes:
  first: {type: script, script: first.sh, next: each}
  each: {type: map, over: "{{items}}", as: item, branch: one, collect_into: all, next: review}
  one: {type: script, script: one.sh}
  review:
    type: approval
    question: "Ship {{all}}?"
    options: ["yes please", "no"]
    routes: {"yes please": shipped, "no": dropped}
    on_other: dropped
  shipped: {type: end, output: "shipped {{all}}"}
  dropped: {type: end, output: "dropped", status: rejected}
""",
    "first.sh": "echo looking around >&2\necho '{\"found\": 3}'\n",
    "one.sh": 'echo \'{"output": "done"}\'\n',
    "slow.yaml": """\
name: slow
start: work
settings: {log_state_snapshots: false}
nodes:
  work: {type: script, script: wait.sh, next: over}
  over: {type: end, output: "at last"}
""",
    "wait.sh": "while [ ! -e go ]; do sleep 0.05; done\necho '{\"key\": 1}'\n",
}


def watch(harness: FlowHarness) -> Watcher:
    """A watcher of the harness's run."""

    def recall(path: str, digest: str) -> Flow:
        return harness.flows[path]

    return Watcher(
        store=harness.store, roster=harness.roster, readings=None, run=RUN, stale_after=3600.0, recall=recall
    )


# --- on fakes ---------------------------------------------------------------------------------------------------


def test_looking_piece_by_piece_shows_the_same_as_looking_once(tmp_path: Path) -> None:
    harness = build(tmp_path)
    often = watch(harness)
    for _ in range(20):
        run = harness.drive()
        often.look(0.0)
        if run.ended is not None:
            break
        answer(harness, run)

    once = watch(harness).look(5.0)

    again = often.look(5.0)
    assert run_state(once) == "done"
    assert status_json(again) == status_json(once)
    assert again.walks[FLOW].traces == once.walks[FLOW].traces
    assert list(once.walks[FLOW].flows) == [""]


def test_a_fold_that_is_given_to_a_look_is_continued_where_it_ends(tmp_path: Path) -> None:
    harness = build(tmp_path)
    harness.store = store = Listening()
    harness.drive()
    early, late = read_run(store, RUN), read_run(store, RUN)
    answer(harness, late)
    late = harness.drive()
    alone = watch(harness).look(5.0)

    for given in (early, late):
        watcher = watch(harness)
        watcher.begun = given
        store.whole.clear()
        assert status_json(watcher.look(5.0)) == status_json(alone)
        assert Stream(RUN) not in store.whole


class Listening(MemoryStore):
    """A store that remembers from where on it was read, and which streams were read as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []
        self.whole: list[Stream] = []

    def read(self, stream: Stream, *, after: int = 0, kinds: Sequence[str] = ()) -> Sequence[Recorded]:
        """Events of a stream."""
        self.whole += [] if after or kinds else [stream]
        return super().read(stream, after=after, kinds=kinds)

    def tail(self, run: RunId, *, after: int = 0) -> Sequence[Recorded]:
        """The entries after a place."""
        self.asked.append(after)
        return super().tail(run, after=after)


def test_a_look_reads_only_what_is_new(tmp_path: Path) -> None:
    harness = build(tmp_path)
    harness.store = store = Listening()
    harness.drive()
    store.asked.clear()
    watcher = watch(harness)
    watcher.look(0.0)

    watcher.look(1.0)

    recorded = [entry.seq for stream in (Stream(RUN), Stream(RUN, FLOW)) for entry in store.read(stream)]
    assert store.asked == [max(recorded), max(recorded)]


def test_the_values_are_those_of_the_journal(tmp_path: Path) -> None:
    harness = build(tmp_path)
    harness.drive()

    snapshot = watch(harness).look(0.0)

    root = snapshot.walks[FLOW].root
    assert root is not None
    assert root.values["log"] == ["first#1", "left#1", "right#1", "both#1"]
    assert (run_state(snapshot), list(snapshot.run.unanswered)) == ("parked", ["review"])
    assert why(snapshot, "review").gate == "review"


def test_a_visit_left_open_by_a_dead_driver_is_lost_until_somebody_resumes(tmp_path: Path) -> None:
    harness = build(tmp_path)
    harness.die_at(3, when="before")
    with pytest.raises((Died, BaseExceptionGroup)):
        harness.drive()

    found = why(watch(harness).look(0.0), "first")

    assert (found.state, found.hint) == ("lost", f"drumline resume {RUN}")


def test_an_answer_in_the_inbox_is_seen_before_anybody_folds_it_in(tmp_path: Path) -> None:
    harness = build(tmp_path)
    harness.drive()
    harness.send(Message(kind="answer", subject="review", value="on"))

    snapshot = watch(harness).look(0.0)

    assert snapshot.answers == {"review": "on"}


def test_a_run_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no run"):
        watch(build(tmp_path)).look(0.0)


# --- the commands -----------------------------------------------------------------------------------------------


def make_flow_user(folder: Path) -> User:
    """Somebody with the flows above in a repository."""
    user = User(folder=folder, repo=folder / "repo")
    (folder / "home").mkdir()
    user.repo.mkdir()
    for name, text in FILES.items():
        (user.repo / name).write_text(text, encoding="utf-8")
    user.git("init", "-q", "-b", "main")
    user.git("add", "-A")
    user.git("-c", "user.name=Kim", "-c", "user.email=kim@example.org", "commit", "-q", "-m", "start")
    return user


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """A run that waits at its question."""
    folder = tmp_path_factory.mktemp("look")
    made = make_flow_user(folder)
    with leaving_nothing(folder):
        assert made.drumline("flow", "run", "flow.yaml").code == 2
        yield made


def test_status_shows_the_path_and_the_question(user: User) -> None:
    told = user.drumline("status")

    assert "first → each" in told.out
    assert '? review: Ship ["done","done"]?' in told.out
    assert "drumline answer review 'yes please' --resume" in told.out


def test_status_as_json_is_the_contract_of_flows(user: User) -> None:
    told = user.drumline("status", "--json").json

    assert (told["schema_version"], told["state"], told["flow"], told["path"]) == (1, "parked", "shipping", "flow.yaml")
    assert told["visits"] == {"first": 1, "each": 1, "review": 1}


def test_why_explains_a_node_a_visit_and_the_run(user: User) -> None:
    node, visit, run = (user.drumline("why", *name) for name in (["shipped"], ["each#1[1]/one"], []))

    assert node.out.startswith("shipped is not reached")
    assert visit.out.startswith("each#1[1]/one is over")
    assert "gate review asks" in run.out
    assert user.drumline("why", "nobody").code == 3


def test_logs_show_what_a_visit_printed_and_wrote_and_the_state_after_it(user: User) -> None:
    short, whole = user.drumline("logs", "first"), user.drumline("logs", "first", "--state")

    assert "first#1: ended → each" in short.out
    assert "  wrote found: 3" in short.out
    assert "looking around" in short.out
    assert '"found": 3' not in short.out.replace('{"found": 3}', "")
    assert '    "found": 3' in whole.out


def test_logs_as_json_list_visits_with_their_files_and_states(user: User) -> None:
    told = user.drumline("logs", "--state", "--json").json

    visits = told["visits"]
    assert isinstance(visits, list)
    assert [one["visit"] for one in visits] == ["first", "each#1[0]/one", "each#1[1]/one"]
    assert visits[0]["state"]["found"] == 3
    assert visits[0]["logs"][0]["name"] == "first#1.script.log"
    assert visits[2]["state"]["items"] == ["a", "b"]


def test_an_attempt_of_a_flow_is_refused_with_what_to_type(user: User) -> None:
    told = user.drumline("logs", "first", "--attempt", "2")

    assert told.code == 3
    assert "drumline logs NODE#2" in told.err


def test_runs_list_a_flow_with_its_visits(user: User) -> None:
    row = user.drumline("runs").out.splitlines()[1].split()

    assert (row[1], row[2], "flow.yaml" in row) == ("parked", "3/-", True)


def test_wait_and_attach_exit_as_the_run_did(user: User) -> None:
    waited, attached = user.drumline("wait", "--json"), user.drumline("attach")

    assert (waited.code, attached.code) == (2, 2)
    assert waited.json["state"] == "parked"
    assert "node first started" in attached.err
    assert "next:\n  drumline answer review 'yes please' --resume" in attached.out


def test_a_live_run_is_looked_at_from_outside(tmp_path: Path) -> None:
    user = make_flow_user(tmp_path)
    with leaving_nothing(tmp_path):
        walking = user.start("flow", "run", "slow.yaml")
        wait_for(lambda: user.drumline("status", "--json").out.count('"visit":"work"'), "the node to be at work")

        why = user.drumline("why", "work")
        (user.repo / "go").touch()
        waited = user.drumline("wait")

        out, _ = walking.communicate(timeout=30)
    assert why.out.startswith("work is running: driver d-")
    assert (walking.returncode, out) == (0, "at last\n")
    assert (waited.code, waited.out.strip()) == (0, "done")
    state = user.drumline("logs", "work", "--state")
    assert "keeps no states (log_state_snapshots: false)" in state.out
    assert "  wrote key" in state.out
