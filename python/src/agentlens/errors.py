"""Errors of this package. Those of the HTTP client carry `status`, `code` and `details` of the platform's response."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentlens.decision import Decision


class AgentLensError(Exception):
    """Base of every error that this package raises intentionally."""

    def __init__(self, message: str, status: int = 0, code: str = "API_ERROR", details: Any = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.details = details


class AuthenticationError(AgentLensError):
    """401 or 403: no key, a revoked key, or a key without the scope."""

    def __init__(self, message: str = "Authentication failed", status: int = 401) -> None:
        super().__init__(message, status, "AUTHENTICATION_ERROR")


class NotFoundError(AgentLensError):
    def __init__(self, message: str = "Resource not found") -> None:
        super().__init__(message, 404, "NOT_FOUND")


class ValidationError(AgentLensError):
    def __init__(self, message: str, details: Any = None) -> None:
        super().__init__(message, 400, "VALIDATION_ERROR", details)


class AgentLensConnectionError(AgentLensError):
    def __init__(self, message: str, cause: BaseException | None = None) -> None:
        super().__init__(message, 0, "CONNECTION_ERROR")
        self.__cause__ = cause


class QuotaExceededError(AgentLensError):
    def __init__(self, message: str = "Quota exceeded") -> None:
        super().__init__(message, 402, "QUOTA_EXCEEDED")


class RateLimitError(AgentLensError):
    """429; `retry_after` is in seconds."""

    def __init__(self, message: str = "Rate limit exceeded", retry_after: float | None = None) -> None:
        super().__init__(message, 429, "RATE_LIMIT")
        self.retry_after = retry_after


class BackpressureError(AgentLensError):
    def __init__(self, message: str = "Service temporarily unavailable") -> None:
        super().__init__(message, 503, "BACKPRESSURE")


class ToolBlocked(AgentLensError):
    """A tool call was refused and its caller requested an exception instead of a message for the model."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.refusal, code="TOOL_BLOCKED")
        self.decision = decision


class RunStopped(AgentLensError):
    """The run must stop: an operator, a rule, the breaker, a rejected key or the fail mode ended it."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"{STOPPED_PREFIX}{decision.message}", code="RUN_STOPPED")
        self.decision = decision
        _recent_stops.append(decision)


STOPPED_PREFIX = "AgentLens stopped this run: "
# Some frameworks only keep the text of an exception; the decision is found by that text.
_recent_stops: deque[Decision] = deque(maxlen=256)


def text_of(error: BaseException) -> str:
    """The text of an exception; empty if it cannot be built."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the agent's own exception cannot write itself
        return ""


def kind_of(error: BaseException) -> str:
    """The name of an exception's class, even if its metaclass hides it."""
    return str(type.__dict__["__name__"].__get__(type(error)))


def stopped_by(error: BaseException | None) -> Decision | None:
    """
    The decision that stopped a run, even if a framework wrapped the error; None for any other error. Searches
    causes, contexts, members of groups, and finally the text.
    """
    texts: list[str] = []
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        current = waiting.pop(0)
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, RunStopped | ToolBlocked):
            return current.decision
        texts.append(text_of(current))
        waiting += [current.__cause__, current.__context__]
        waiting += [item for item in getattr(current, "exceptions", ()) if isinstance(item, BaseException)]
    for text in texts:
        if STOPPED_PREFIX not in text:
            continue
        for decision in reversed(_recent_stops):
            if decision.message in text:
                return decision
    return None
