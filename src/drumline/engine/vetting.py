"""Which steps bring commands that a person has to accept first.

The rule: a plan edited in mid-run is asked about, too; and so is, also where nobody is there, the test that a flow or
an agent made up for a corrective step. What a person answers at a gate is remembered for the repository, so that it is
not asked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from drumline.core import gates
from drumline.core.ids import StepId
from drumline.core.needs import settled
from drumline.core.plan import RUN_WALKS, Step
from drumline.core.state import RunState
from drumline.core.trust import CHECK, Brought
from drumline.engine.brought import list_step_commands
from drumline.ports.trust import Trust
from drumline.record import Record, field


class Vetting(Record):
    """Looks at the commands of steps before these are claimed; a text that was found trusted is not looked at again.

    `base` is where the paths of agents start that play a file.
    """

    trust: Trust
    base: Path
    _trusted: set[tuple[StepId, str]] = field(default_factory=set)

    def look(self, run: RunState) -> Mapping[StepId, tuple[Brought, ...]]:
        """The steps still to do with commands that are not trusted."""
        found: dict[StepId, tuple[Brought, ...]] = {}
        for step in (*map(run.define, RUN_WALKS), *run.selected()):
            if (step.id, step.text_digest) not in self._trusted and not settled(run, step.id):
                if commands := self._examine(run, step):
                    found[step.id] = commands
                else:
                    self._trusted.add((step.id, step.text_digest))
        return found

    def _examine(self, run: RunState, step: Step) -> tuple[Brought, ...]:
        brought = list_step_commands(step, run.begun.profiles, base=self.base)
        planned = run.corrections.get(step.id)
        made = [one for one in brought if planned and one.kind == CHECK and one.text == planned.correction.test]
        others = self.trust.find_untrusted(one for one in brought if one not in made)
        commands = (*others, *self.trust.find_untrusted(made, made=True))
        if not commands:
            return ()
        answer = run.answer(gates.trust_id(step, commands))
        if answer == gates.YES:
            self.trust.accept(commands)
            return ()
        if answer == gates.NO:
            self.trust.refuse(commands)
        return commands
