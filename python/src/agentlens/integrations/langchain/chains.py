"""The run that a chain and everything below it belongs to, by LangChain's own run ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agentlens.forks import ForkLock
from agentlens.run import Run

# Chains that never end are evicted, oldest first.
MAX_OPEN_CALLS = 10_000


@dataclass(frozen=True)
class Chain:
    """`owned`: the run was started for this chain and ends with it. `thread` is LangGraph's conversation id."""

    run: Run
    owned: bool = False
    thread: str | None = None
    query: str | None = None


class Chains:
    def __init__(self) -> None:
        self._lock = ForkLock()
        self._open: dict[UUID, Chain] = {}
        self._models: dict[UUID, tuple[Run, str | None]] = {}
        self._tools: dict[UUID, tuple[Run, str, float]] = {}
        self._waiting: dict[str, Run] = {}
        self._interrupted: dict[str, bool] = {}

    def run_of(self, run_id: UUID | None) -> Run | None:
        chain = None if run_id is None else self._open.get(run_id)
        return None if chain is None else chain.run

    def open(self, run_id: UUID, chain: Chain) -> None:
        self._keep(self._open, run_id, chain)

    def below(self, run_id: UUID, parent: UUID | None, query: str | None = None) -> Run | None:
        run = self.run_of(parent)
        if run is not None:
            self.open(run_id, Chain(run, query=query))
        return run

    def close(self, run_id: UUID) -> Chain | None:
        with self._lock:
            return self._open.pop(run_id, None)

    def model_began(self, run_id: UUID, run: Run, call_id: str | None) -> None:
        self._keep(self._models, run_id, (run, call_id))

    def model_ended(self, run_id: UUID) -> tuple[Run, str | None] | None:
        with self._lock:
            return self._models.pop(run_id, None)

    def tool_began(self, run_id: UUID, run: Run, name: str, began_s: float) -> None:
        self._keep(self._tools, run_id, (run, name, began_s))

    def tool_ended(self, run_id: UUID) -> tuple[Run, str, float] | None:
        with self._lock:
            return self._tools.pop(run_id, None)

    # A graph that pauses for a human ends its chain; the run continues with the next chain of the same thread.

    def interrupt(self, run: Run) -> None:
        self._keep(self._interrupted, run.id, True)

    def waits(self, chain: Chain) -> bool:
        """True: the run of this chain is kept until its thread is resumed."""
        with self._lock:
            interrupted = self._interrupted.pop(chain.run.id, False)
        if not interrupted or chain.thread is None:
            return False
        self._keep(self._waiting, chain.thread, chain.run)
        return True

    def resumed(self, thread: str | None) -> Run | None:
        with self._lock:
            return None if thread is None else self._waiting.pop(thread, None)

    def _keep(self, where: dict[Any, Any], key: Any, value: Any) -> None:
        with self._lock:
            where[key] = value
            if len(where) > MAX_OPEN_CALLS:
                del where[next(iter(where))]


# One per process: a tool looks up the run of its chain, regardless of which handler has seen the chain.
chains = Chains()
