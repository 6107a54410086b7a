"""Roles that plans give their steps: what each may do, how long it may take and what its prompt adds.

A role is data. Limits and capabilities are those the Maestro family ships; the tier is ours: `strong` where others
build on a judgement (architecture, review, security, diagnosis), `fast` where the work is prose or routine, and
`standard` for everything that writes code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from drumline.record import Record

READ_ONLY = "This role may only read: report what you find. Files you change are put back, and the attempt has failed."


class Capability(Enum):
    """What a role may do in its workspace; only the last two may change files."""

    READ_ONLY = "read_only"
    READ_SHELL = "read_shell"
    READ_WRITE = "read_write"
    FULL = "full"

    @property
    def writes(self) -> bool:
        """Whether the role may change files."""
        return self in (Capability.READ_WRITE, Capability.FULL)


class Role(Record):
    """One profile: its limits are turns of the agent, minutes of work and the model's temperature."""

    name: str
    capability: Capability
    turns: int
    minutes: int
    temperature: float
    tier: str
    prompt: str

    @property
    def briefing(self) -> str:
        """What the agent is told of its role, and whether it may change files."""
        return self.prompt if self.capability.writes else f"{self.prompt} {READ_ONLY}"


Limits = tuple[int, int, float]
Row = tuple[str, str, str]


def only_reads(name: str) -> bool:
    """Whether the role of this name may change no file."""
    role = find_role(name) if name else None
    return role is not None and not role.capability.writes


def find_role(name: str) -> Role | None:
    """The role of this name, in any case and with `_` for `-`; None if it is not known."""
    return ROLES.get(name.strip().casefold().replace("_", "-"))


def _rows(capability: Capability, limits: Limits, rows: Iterable[Row]) -> dict[str, Role]:
    turns, minutes, temperature = limits
    return {
        name: Role(
            name=name,
            capability=capability,
            turns=turns,
            minutes=minutes,
            temperature=temperature,
            tier=tier,
            prompt=prompt,
        )
        for name, tier, prompt in rows
    }


_ADVISERS: tuple[Row, ...] = (
    ("api-designer", "strong", "Design interfaces: name resources, shapes, errors and versions before any code."),
    ("architect", "strong", "Weigh the alternatives and say which structure you choose, and what it costs."),
    ("cloud-architect", "strong", "Choose cloud services by failure modes, limits and running cost."),
    ("compliance-reviewer", "strong", "Find where rules on data, licences or audit are broken; cite the rule."),
    ("content-strategist", "fast", "Decide what content is needed, for whom and in which order."),
    ("solutions-architect", "strong", "Fit the parts into one system and name each seam and its owner."),
)
_REVIEWERS: tuple[Row, ...] = (
    ("code-reviewer", "strong", "Report only defects you traced in the code, each with file, line, evidence and fix."),
)
_INVESTIGATORS: tuple[Row, ...] = (
    ("accessibility-specialist", "standard", "Test against WCAG with keyboard and screen reader in mind."),
    ("database-administrator", "standard", "Judge schemas, indexes and migrations by plans and locks, not by taste."),
    ("db2-dba", "standard", "Judge Db2 objects, access paths and utilities by what the catalogue and EXPLAIN say."),
    ("debugger", "strong", "Reproduce first, then narrow down to the one cause that explains every symptom."),
    ("performance-engineer", "strong", "Measure before and after; a claim about speed without numbers does not count."),
    ("security-engineer", "strong", "Think as the attacker: name entry point, impact and the smallest closing change."),
    ("seo-specialist", "fast", "Check what crawlers see: titles, structure, links, speed and structured data."),
    (
        "site-reliability-engineer",
        "standard",
        "Look for what pages people at night: limits, timeouts, retries, alerts.",
    ),
    ("zos-sysprog", "standard", "Judge z/OS changes by their effect on the running system and the way back."),
)
_COPY: tuple[Row, ...] = (("copywriter", "fast", "Write short, true sentences in the product's own voice."),)
_SHAPERS: tuple[Row, ...] = (
    ("product-manager", "standard", "State the need, who has it and how one will know that it is met."),
    ("ux-designer", "standard", "Describe every state of the interface, the empty and the failing ones too."),
)
_WRITERS: tuple[Row, ...] = (
    ("prompt-engineer", "standard", "Write prompts that state goal, limits and the shape of the answer; test them."),
    ("release-manager", "fast", "Collect what changed, for its users, and list the steps to ship and to take back."),
    ("technical-writer", "fast", "Document what the code does now; every example must run as printed."),
)
_MOVERS: tuple[Row, ...] = (
    ("data-engineer", "standard", "Make pipelines that can be run twice with the same result."),
    ("devops-engineer", "standard", "Automate with the smallest change that can be rolled back."),
    ("i18n-specialist", "standard", "Take every text out of the code; plurals, dates and direction included."),
)
_BUILDERS: tuple[Row, ...] = (
    ("analytics-engineer", "standard", "Model data so that each metric has one definition, with tests on it."),
    ("cobol-engineer", "standard", "Keep to the copybooks and the fixed layouts that other programs rely on."),
    ("coder", "standard", "Implement what the step asks for, in the style of the code around it, with tests."),
    ("design-system-engineer", "standard", "Build components from tokens, with every state and variant covered."),
    ("hlasm-assembler-specialist", "standard", "Mind registers, addressing mode and linkage; comment each convention."),
    ("ibm-i-specialist", "standard", "Respect library lists, activation groups and the journal on IBM i."),
    (
        "integration-engineer",
        "standard",
        "Treat the other side as unreliable: time out, retry safely, log the exchange.",
    ),
    ("ml-engineer", "standard", "Fix seeds and splits, and report the metric against a plain baseline."),
    ("mlops-engineer", "standard", "Make training and serving repeatable: pinned data, versions and a way back."),
    ("mobile-engineer", "standard", "Mind the platform's lifecycle, being offline, and small screens."),
    (
        "observability-engineer",
        "standard",
        "Add the signal that answers a question somebody asks; keep labels bounded.",
    ),
    ("platform-engineer", "standard", "Give other teams a paved road with sane defaults and clear errors."),
    ("refactor", "standard", "Change the structure and not the behaviour, in small steps that keep the tests green."),
    ("tester", "standard", "Write tests that fail when the behaviour breaks, edge cases first."),
)

ROLES: Mapping[str, Role] = {
    **_rows(Capability.READ_ONLY, (15, 5, 0.3), _ADVISERS),
    **_rows(Capability.READ_ONLY, (15, 5, 0.2), _REVIEWERS),
    **_rows(Capability.READ_SHELL, (20, 8, 0.2), _INVESTIGATORS),
    **_rows(Capability.READ_WRITE, (20, 8, 0.3), _COPY),
    **_rows(Capability.READ_WRITE, (20, 8, 0.2), _SHAPERS),
    **_rows(Capability.READ_WRITE, (15, 5, 0.3), _WRITERS),
    **_rows(Capability.FULL, (20, 8, 0.2), _MOVERS),
    **_rows(Capability.FULL, (25, 10, 0.2), _BUILDERS),
}
"""Every known role by its canonical name."""
