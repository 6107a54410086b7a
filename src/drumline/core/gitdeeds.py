"""What an agent did to git beside changing files: found when its attempt has ended, and told with its name.

None of it lands: the commit that lands is made of the files, on the base that the step was given.
"""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.ids import NO_STEP, Commit, StepId
from drumline.core.plaintext import count_noun, name_some
from drumline.record import Record

MOST_NAMED = 5
SHORT = 10
TRAILER = "Drumline-"
"""How the trailers of our commits begin."""


class GitDeeds(Record):
    """What was found in a workspace and of the run branch.

    `commits` were made on the base, `rewrote` says that the base is not in the history any more, `trailers` are ours
    in messages that we did not write, `no_git` that the workspace has lost its `.git`. The run branch was `moved` while
    the agent was at work: to `tip`, None if it is gone; `foreign` are commits on it that no step landed. `others` are
    other branches and tags that were moved or removed meanwhile, each with where it stood.
    """

    commits: int = 0
    rewrote: bool = False
    trailers: tuple[str, ...] = ()
    no_git: bool = False
    moved: bool = False
    tip: Commit | None = None
    foreign: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """A sentence for each."""
        trailers, others = name_some(self.trailers, between="; "), name_some(self.others)
        made = f"made {count_noun(self.commits, 'commit')} of its own; they become part of the step's commit"
        return (
            *([made] if self.commits and not self.rewrote else []),
            *(["rewrote or left the history that it began on; only its files count"] if self.rewrote else []),
            *([f"wrote trailers of Drumline ({trailers}); they are not used"] if self.trailers else []),
            *(["removed or changed the .git of its worktree, which is made again"] if self.no_git else []),
            *([self._tell_branch()] if self.moved else []),
            *([f"while it was at work, branches or tags were moved or removed: {others}"] if self.others else []),
        )

    def _tell_branch(self) -> str:
        where = f"now at {self.tip[:SHORT]}" if self.tip else "now gone"
        named = f", with commits that no step landed: {name_some(self.foreign, between='; ')}" if self.foreign else ""
        return f"the run branch was moved while it was at work ({where}{named})"


NO_DEEDS = GitDeeds()


def list_trailers(messages: Sequence[str]) -> tuple[str, ...]:
    """The lines of messages that look like trailers of our commits."""
    found = (line.strip() for message in messages for line in message.splitlines())
    return tuple(dict.fromkeys(line[:200] for line in found if line.startswith(TRAILER) and ": " in line))


def tell_culprit(step: StepId, beside: Sequence[StepId]) -> str:
    """Whose agents were at work when the run branch was moved; empty if nobody looked."""
    if step == NO_STEP:
        return ""
    others = f", beside {', '.join(beside[:MOST_NAMED])}" if beside else ""
    return f"It was moved while the agent of {step} was at work{others}."
