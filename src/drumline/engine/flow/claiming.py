"""Who may drive a flow: one process at a time, and a dead one's place is taken."""

from __future__ import annotations

import anyio.to_thread

from drumline.core.flow.questions import FLOW
from drumline.core.ids import DriverId, RunId, Token
from drumline.engine.flow.kit import FlowKit
from drumline.errors import NotAllowed
from drumline.ports.roster import Standing


async def claim_flow(kit: FlowKit, run: RunId, driver: DriverId) -> Token:
    """The token under which this driver writes; NotAllowed while another one lives."""
    store, roster = kit.store, kit.roster
    token = store.take(run, FLOW, driver)
    held = store.held(run).get(FLOW)
    gone = token is None and held is not None and roster.standing(held.driver) is not Standing.LIVE
    # An eviction may wait for seconds until everything the other had started has ended.
    if gone and held is not None and await anyio.to_thread.run_sync(roster.evict, held.driver):
        token = store.take(run, FLOW, driver, over=held.token)
    if token is None:
        raise NotAllowed(f"run {run} is driven by another process", hint=f"drumline attach {run}")
    return token
