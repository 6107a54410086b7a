"""A session that its model can take no more of: it is left, and the work goes on in a new one."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from tests.integration.test_cli_agent import PLAIN, PlainReader, assign, say
from tests.supervision import supervise

from drumline.agents.cli import CliAgent
from drumline.agents.verdicts import explain_failure
from drumline.ports.agents import Outcome
from drumline.ports.processes import Ended
from drumline.record import replace


class FailingReader(PlainReader):
    """What the program says at its end is what has gone wrong."""

    def conclude(self, ended: Ended) -> Outcome:
        return replace(explain_failure(super().conclude(ended).message), usage={"input": 7.0}, session="s1")


@pytest.mark.parametrize(("session", "failure", "kept"), [("s1", "crash", ""), ("", "permanent", "s1")])
def test_only_a_session_that_was_gone_on_with_can_be_too_long(
    session: str, failure: str, kept: str, tmp_path: Path
) -> None:
    program = replace(PLAIN, open_reader=FailingReader)
    agent = CliAgent(program=program, executable=Path("bash"), processes=supervise(tmp_path))

    outcome = anyio.run(agent.work, assign(tmp_path, say(done="Prompt is too long"), session=session))

    assert (outcome.failure, outcome.session) == (failure, kept)
    assert outcome.usage == {"input": 7.0}
