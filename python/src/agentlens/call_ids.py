"""Gives each execution of a tool one id, from its decision to its result."""

from __future__ import annotations

import json

from agentlens.forks import ForkLock

# A run calls dozens of tools at a time; calls that never report back are evicted, oldest first.
MAX_OPEN_CALLS = 500


class CallIds:
    def __init__(self) -> None:
        self._lock = ForkLock()
        self._waiting: dict[str, str] = {}
        self._executions: dict[str, int] = {}

    def of(self, tool: str, args_json: str, given: str | None) -> str | None:
        """
        Asking about a waiting call again reuses its id. A framework that repeats a call reuses its own id, but each
        execution is a separate call. None: the call has no id yet.
        """
        waiting = self._waiting.get(_key(tool, args_json))
        times = 0 if given is None else self._executions.get(given, 0)
        return waiting or (given if times == 0 else f"{given}#{times + 1}")

    def decided(self, tool: str, args_json: str, call_id: str, *, waits: bool) -> None:
        with self._lock:
            if waits:
                _keep(self._waiting, _key(tool, args_json), call_id)
            else:
                self._waiting.pop(_key(tool, args_json), None)

    def executed(self, call_id: str) -> None:
        with self._lock:
            first = call_id.partition("#")[0]
            _keep(self._executions, first, self._executions.get(first, 0) + 1)


def _key(tool: str, args_json: str) -> str:
    return json.dumps([tool, args_json])


def _keep(where: dict[str, int] | dict[str, str], key: str, value: int | str) -> None:
    where[key] = value  # type: ignore[assignment]
    if len(where) > MAX_OPEN_CALLS:
        del where[next(iter(where))]
