"""The current run and the call being executed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentlens.run import Run

current: ContextVar[Run | None] = ContextVar("agentlens_run", default=None)


@dataclass
class DecidedCall:
    """A decided call that is being executed. `seams` are the integration points that have seen it."""

    tool: str
    call_id: str | None
    seams: set[str] = field(default_factory=set)


_decided: ContextVar[tuple[DecidedCall, ...]] = ContextVar("agentlens_decided", default=())


def current_run() -> Run | None:
    """The run of this context: from `with agentlens.run()`, or started by an adapter for its framework."""
    return current.get()


def already_decided(tool: str, call_id: str | None, seam: str) -> bool:
    """
    Whether another integration point has already decided this execution. Each one passes once per decision, so that
    a tool that calls itself is decided again.
    """
    for call in reversed(_decided.get()):
        same = call.tool == tool and (call.call_id is None or call_id is None or call.call_id == call_id)
        if same and seam not in call.seams:
            call.seams.add(seam)
            return True
    return False


@contextmanager
def deciding(tool: str, call_id: str | None, seam: str) -> Iterator[None]:
    token = _decided.set((*_decided.get(), DecidedCall(tool, call_id, {seam})))
    try:
        yield
    finally:
        try:
            _decided.reset(token)
        except ValueError:
            # A generator closed in another context than it was started in; that context ends with it.
            _decided.set(())
