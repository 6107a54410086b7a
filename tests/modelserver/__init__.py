"""A scripted model server: real agent programs run against it without a model, a key or a network.

Enter a `ModelServer` with scenarios and point a program at its `url`. A scenario says what the model means to do;
the server says it in the wire format and the tool names of the program that asks.
"""

from tests.modelserver.conversation import Usage
from tests.modelserver.records import Request
from tests.modelserver.scenario import (
    Answer,
    Cut,
    Hang,
    Read,
    Refuse,
    Run,
    Scenario,
    Turn,
    Use,
    Write,
)
from tests.modelserver.scenariofile import read_scenarios
from tests.modelserver.server import ModelServer

__all__ = [
    "Answer",
    "Cut",
    "Hang",
    "ModelServer",
    "Read",
    "Refuse",
    "Request",
    "Run",
    "Scenario",
    "Turn",
    "Usage",
    "Use",
    "Write",
    "read_scenarios",
]
