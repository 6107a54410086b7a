"""Slots for checks: how many run at once, who comes first, and what a cancelled one leaves."""

from __future__ import annotations

import anyio
import pytest

from drumline.engine.checkslots import CheckSlots, Urgency


def test_no_more_run_at_once_than_there_are_slots() -> None:
    async def main() -> None:
        slots, running, most = CheckSlots(2), 0, 0

        async def work() -> None:
            nonlocal running, most
            async with slots.take(Urgency.STEP):
                running += 1
                most = max(most, running)
                await anyio.lowlevel.checkpoint()
                await anyio.lowlevel.checkpoint()
                running -= 1

        async with anyio.create_task_group() as group:
            for _ in range(7):
                group.start_soon(work)

        assert most == 2
        assert running == 0

    anyio.run(main)


def test_the_most_urgent_comes_first_and_equals_in_their_order() -> None:
    async def main() -> None:
        slots, order = CheckSlots(1), list[str]()

        async def work(name: str, urgency: Urgency) -> None:
            async with slots.take(urgency):
                order.append(name)

        async with anyio.create_task_group() as group, slots.take(Urgency.STEP):
            wanted = [("mutant", Urgency.MUTANT), ("base", Urgency.BASE), ("step 1", Urgency.STEP)]
            wanted += [("step 2", Urgency.STEP), ("landing", Urgency.LANDING)]
            for name, urgency in wanted:
                group.start_soon(work, name, urgency)
            await anyio.wait_all_tasks_blocked()

        assert order == ["landing", "step 1", "step 2", "base", "mutant"]

    anyio.run(main)


def test_one_that_is_cancelled_while_it_waits_takes_no_slot_with_it() -> None:
    async def main() -> None:
        slots = CheckSlots(1)

        async def wait() -> None:
            async with slots.take(Urgency.LANDING):
                raise AssertionError("it was cancelled before")

        async with slots.take(Urgency.STEP), anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()

        with anyio.fail_after(5):
            async with slots.take(Urgency.MUTANT):
                pass

    anyio.run(main)


def test_one_that_fails_gives_its_slot_back() -> None:
    async def main() -> None:
        slots = CheckSlots(1)

        with pytest.raises(ValueError, match="red"):
            async with slots.take(Urgency.STEP):
                raise ValueError("red")

        with anyio.fail_after(5):
            async with slots.take(Urgency.STEP):
                pass

    anyio.run(main)


def test_without_a_number_nobody_waits() -> None:
    async def main() -> None:
        slots = CheckSlots()

        with anyio.fail_after(5):
            async with slots.take(Urgency.MUTANT), slots.take(Urgency.MUTANT), slots.take(Urgency.MUTANT):
                pass

    anyio.run(main)
