"""Task Master's tasks.json: tags, subtasks, dependencies of every spelling, statuses."""

import json

from tests.samples.shape import Sample

NAME = ".taskmaster/tasks/tasks.json"
Value = object


def task(number: Value, needs: Value = (), status: str = "pending", **more: Value) -> dict[str, Value]:
    """A task as Task Master writes it."""
    fields = {"title": f"Title {number}", "description": "Do it.", "status": status, "priority": "medium"}
    return {"id": number, **fields, "dependencies": needs, "details": "", "testStrategy": "", **more}


def tagged(*tasks: Value, indent: int | str | None = 2, **tags: Value) -> str:
    """The file with a tag `master` and others."""
    return json.dumps({"master": {"tasks": tasks}, **tags}, indent=indent, ensure_ascii=False) + "\n"


SAMPLES = {
    "tasks with dependencies": Sample(
        name=NAME,
        text=tagged(task(1, status="done"), task(2, [1]), task(3, [1]), task(4, [2, 3])),
        steps="""
            1 : done
            2 < 1
            3 < 1
            4 < 2 3
        """,
    ),
    "subtasks are the steps": Sample(
        name=NAME,
        text=tagged(task(1), task(2, [1], subtasks=[task(1), task(2, [1]), task(3)]), task(3, [2])),
        steps="""
            1
            2.1 < 1
            2.2 < 2.1
            2.3 < 1
            3 < 2.2 2.3
        """,
    ),
    "dependencies in every spelling": Sample(
        name=NAME,
        text=tagged(
            task(1), task("2", ["1"], subtasks=[task("2.1"), task("2.2", ["2.1"]), task(3, [1, 2])]), task(3, [2.2])
        ),
        steps="""
            1
            2.1 < 1
            2.2 < 2.1
            2.3 < 2.1 2.2
            3 < 2.2
        """,
    ),
    "a subtask that needs a task": Sample(
        name=NAME,
        text=tagged(task(1), task(7), task(2, [1], subtasks=[task(1, ["7"]), task(2, [1])])),
        steps="""
            1
            7
            2.1 < 7 1
            2.2 < 2.1
        """,
    ),
    "every status": Sample(
        name=NAME,
        text=tagged(
            task(1, status="completed"),
            task(2, status="in-progress"),
            task(3, status="review"),
            task(4, status="deferred"),
            task(5, status="cancelled"),
            task(6, status="blocked"),
        ),
        steps="""
            1 : done
            2 : claimed
            3 : claimed
            4 : blocked
            5 : skipped
            6 : blocked
        """,
    ),
    "an unknown status is not done": Sample(
        name=NAME,
        text=tagged(task(1, status="wip")),
        steps="1 : claimed",
        codes=("status_unknown",),
    ),
    "before there were tags": Sample(
        name="tasks/tasks.json",
        text=json.dumps({"tasks": [task(1), task(2, [1])], "metadata": {"projectName": "x"}}) + "\n",
        steps="""
            1
            2 < 1
        """,
    ),
    "several tags": Sample(
        name=NAME,
        text=tagged(task(1), feature={"tasks": [task(1), task(2, [1])], "metadata": {"description": "A feature"}}),
        steps="1",
        codes=("tag_chosen",),
    ),
    "the tag that is in use": Sample(
        name=NAME,
        text=tagged(task(1), feature={"tasks": [task(1), task(2, [1])]}),
        steps="""
            1
            2 < 1
        """,
        codes=("tag_chosen",),
        beside={".taskmaster/state.json": '{"currentTag": "feature"}'},
    ),
    "a task that is done before its subtasks": Sample(
        name=NAME,
        text=tagged(task(1, status="done", subtasks=[task(1), task(2, status="done")])),
        steps="""
            1.1
            1.2 : done
        """,
        codes=("parent_done",),
    ),
    "subtasks without a status": Sample(
        name=NAME,
        text=tagged(task(1, status="done", subtasks=[{"id": 1, "title": "A"}, {"id": 2, "title": "B"}]), task(2, [1])),
        steps="""
            1.1 : done
            1.2 : done
            2 < 1.1 1.2
        """,
    ),
    "dependencies that are not there": Sample(
        name=NAME,
        text=tagged(task(1, [9]), task(2, [2, 1])),
        steps="""
            1
            2 < 1
        """,
        codes=("need_dropped", "need_dropped"),
    ),
    "an id twice, and one that cannot name a step": Sample(
        name=NAME,
        text=tagged(task(1), task(1), task("a b")),
        steps="""
            1
            1-2
        """,
        codes=("id_twice", "task_unread"),
    ),
    "checks of ours and in the test strategy": Sample(
        name=NAME,
        text=tagged(
            task(1, checks=["make test"]),
            task(2, [1], testStrategy="Look at it.\n- Run: `make lint`\nRun the tests with `make all` twice"),
            indent="\t",
        ),
        steps="""
            1 ! make test
            2 < 1 ! make lint
        """,
    ),
    "all on one line": Sample(
        name=NAME,
        text=tagged(task(1), task(2, [1], subtasks=[]), indent=None),
        steps="""
            1
            2 < 1
        """,
    ),
    "subtasks that would wait for each other": Sample(
        name=NAME,
        text=tagged(task(4), task(12, [4], subtasks=[task(1, [4]), task(2), task(3, [2]), task(4, [1])])),
        steps="""
            4
            12.1 < 4
            12.2 < 4
            12.3 < 12.2
            12.4 < 12.1
        """,
        codes=("need_dropped",),
    ),
    "checks of tasks with subtasks": Sample(
        name=NAME,
        text=tagged(
            task(1, testStrategy="Run: `make one`", subtasks=[task(1), task(2, [1])]),
            task(2, testStrategy="Run: `make two`", subtasks=[task(1), task(2)]),
        ),
        steps="""
            1.1
            1.2 < 1.1 ! make one
            2.1
            2.2
        """,
        codes=("group_check",),
    ),
}


def many(count: int) -> str:
    """So many tasks."""
    return tagged(*(task(number, [number - 1] if number > 1 else []) for number in range(1, count + 1)))
