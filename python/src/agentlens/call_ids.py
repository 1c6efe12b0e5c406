"""Gives each execution of a tool one id, from its decision to its result."""

from __future__ import annotations

import json
from typing import TypeVar

from agentlens.forks import ForkLock

# A run calls dozens of tools at a time; calls that never report back are evicted, oldest first.
MAX_OPEN_CALLS = 500
V = TypeVar("V")


class CallIds:
    def __init__(self) -> None:
        self._lock = ForkLock()
        # Calls that wait for a person while nothing here waits for them, by tool and arguments.
        self._parked: dict[str, str] = {}
        # Calls that waited, and whether their approval is used.
        self._asked: dict[str, bool] = {}
        self._executions: dict[str, int] = {}

    def of(self, tool: str, args_json: str, given: str | None) -> str | None:
        """
        Repeating a call that waits for a person asks about the same approval, regardless of the id of the
        repetition; of two repetitions, only one has it. A framework that repeats a call reuses its own id, but each
        execution is a separate call. None: the call has no id yet.
        """
        with self._lock:
            parked = self._parked.pop(_key(tool, args_json), None)
            times = 0 if given is None else self._executions.get(given, 0)
        return parked or (given if times == 0 else f"{given}#{times + 1}")

    def park(self, tool: str, args_json: str, call_id: str) -> None:
        with self._lock:
            _keep(self._parked, _key(tool, args_json), call_id)
            _keep(self._asked, call_id, False)

    def unpark(self, call_id: str) -> None:
        """Something waits for this call here, so a repetition is another call."""
        with self._lock:
            for key in [key for key, parked in self._parked.items() if parked == call_id]:
                del self._parked[key]

    def use_approval(self, call_id: str) -> bool:
        """False if another call has used the approval of this one; each approval is for one call."""
        with self._lock:
            used = self._asked.get(call_id)
            if used is not None:
                self._asked[call_id] = True
            return used is not True

    def executed(self, call_id: str) -> None:
        with self._lock:
            first = call_id.partition("#")[0]
            _keep(self._executions, first, self._executions.get(first, 0) + 1)


def _key(tool: str, args_json: str) -> str:
    return json.dumps([tool, args_json])


def _keep(where: dict[str, V], key: str, value: V) -> None:
    where[key] = value
    if len(where) > MAX_OPEN_CALLS:
        del where[next(iter(where))]
