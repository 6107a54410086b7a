"""What a failed call to a provider means. The rule: the class says who has to act, the text keeps the cause.

The graph format that we adopt repeats a question only for certain words in the text (`rate limit`, `429`, `timed out`,
`Connection reset`, `Connection refused`, `produced no output`), so failures of that kind say them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from pydantic_ai import exceptions as ai

from drumline.core.login import blame_keys
from drumline.core.taxonomy import Failure
from drumline.models.servers import ServerDown

MISSING_KEY = re.compile(r"Set the `?\w+`? environment variable|api_key client option must be set", re.IGNORECASE)
STATUS = {401: Failure.AUTH, 402: Failure.BILLING, 403: Failure.AUTH, 408: Failure.TRANSIENT, 429: Failure.TRANSIENT}
LONGEST = 2000

_CLASSES: tuple[tuple[type[Exception], Failure, str], ...] = (
    (ai.ModelQuotaExceededError, Failure.QUOTA, "the quota is used up"),
    (ai.ModelRateLimitError, Failure.TRANSIENT, "rate limit"),
    (ai.ModelTimeoutError, Failure.TRANSIENT, "timed out"),
    (ai.ModelRequestTimeout, Failure.TRANSIENT, "timed out"),
    (ai.ModelAuthenticationError, Failure.AUTH, "the provider refused the API key"),
    (ai.ModelUnavailableError, Failure.TRANSIENT, "the provider is not available"),
    (ai.ModelServerError, Failure.TRANSIENT, "the provider failed"),
)


def judge(error: Exception, *, limit: int) -> tuple[Failure, str]:
    """The class of a failure and a sentence about it; `limit` is the question's `max_iterations`."""
    failure, said = _judge(error, limit)
    return failure, said[:LONGEST]


def name_keys(model: str) -> list[str]:
    """The variables with the API keys of a model's provider that are set."""
    provider = re.sub(r"[^A-Z]", "_", model.partition(":")[0].partition("-")[0].upper())
    also = {"GOOGLE": ("GEMINI_API_KEY",)}.get(provider, ())
    return [name for name in (f"{provider}_API_KEY", *also) if os.environ.get(name)]


def blame(failure: Failure, said: str, *, model: str) -> str:
    """The sentence about a failure, with the variable whose key was refused."""
    keys = name_keys(model) if failure is Failure.AUTH else []
    return blame_keys(keys, said) if keys else said


def _judge(error: Exception, limit: int) -> tuple[Failure, str]:
    if isinstance(error, ai.UsageLimitExceeded):
        return Failure.PERMANENT, f"hit max_iterations ({limit}) while tools were still called"
    if isinstance(error, ai.UnexpectedModelBehavior):
        return _judge_behaviour(error)
    if isinstance(error, ai.ModelHTTPError) and error.status_code == 402:
        return Failure.BILLING, f"the account has no credit: {error}"
    for kind, failure, said in _CLASSES:
        if isinstance(error, kind):
            return failure, f"{said}: {error}"
    if isinstance(error, ai.ModelHTTPError):
        server = Failure.TRANSIENT if error.status_code >= 500 else Failure.PERMANENT
        return STATUS.get(error.status_code, server), str(error)
    if isinstance(error, ai.ModelConnectionError):
        return Failure.TRANSIENT, f"{_name_break(error)}: {error}"
    if MISSING_KEY.search(str(error)):
        return Failure.AUTH, f"no API key: {error}"
    if isinstance(error, ServerDown | ai.UserError):
        return Failure.PERMANENT, str(error)
    return Failure.PERMANENT, f"{type(error).__name__}: {error}"


def _judge_behaviour(error: ai.UnexpectedModelBehavior) -> tuple[Failure, str]:
    if isinstance(error, ai.ContentFilterError):
        return Failure.PERMANENT, f"the provider's filter stopped the answer: {error}"
    return Failure.PERMANENT, f"the model behaved unexpectedly: {error}"


def _name_break(error: BaseException) -> str:
    """How a connection failed, in the words of the operating system if it has some."""
    for cause in _causes(error):
        if isinstance(cause, ConnectionRefusedError):
            return "Connection refused"
        if isinstance(cause, ConnectionResetError):
            return "Connection reset"
    return "no connection (Connection refused or Connection reset)"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
