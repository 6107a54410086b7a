"""Looks up what a step takes for granted in the tree that it begins with.

The rule: a step that names nothing costs nothing.
"""

from __future__ import annotations

from drumline.core.assumptions import Told, TreeFacts, assumptions, list_missing, list_wanted
from drumline.core.ids import Tree
from drumline.core.vocabulary import QUICK
from drumline.engine.handoffs import list_handoffs
from drumline.engine.nodes.stepwork import StepWork


async def tell_missing(work: StepWork, tree: Tree | None) -> str:
    """What of it is not there, for its prompts; nobody looks where rigor is quick, or before there is a workspace."""
    if work.run.begun.rigor in ("", QUICK) or not work.orders.lands or tree is None:
        return ""
    step, workspaces = work.orders.step, work.services.workspaces
    told = Told(step=step, text=work.services.read_pinned(step), handoffs=list_handoffs(work.services, work.run, step))
    wanted = list_wanted(told)
    paths = await workspaces.list_files(tree) if wanted.paths or wanted.files else {}
    texts = {path: await workspaces.read_text(tree, path) or "" for path in wanted.files if path in paths}
    symbols = await workspaces.find_words(tree, wanted.symbols) if wanted.symbols else ()
    return list_missing(assumptions(told, TreeFacts(paths=paths.keys(), symbols=symbols, texts=texts)))
