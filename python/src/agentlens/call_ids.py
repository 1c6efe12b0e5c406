"""Gives each execution of a tool one id, from its question to its result."""

from __future__ import annotations

import json

from agentlens.forks import ForkLock

# A run calls tools by the dozen; what is never asked about again is forgotten, oldest first.
MAX_OPEN_CALLS = 500


class CallIds:
    def __init__(self) -> None:
        self._lock = ForkLock()
        self._waiting: dict[str, str] = {}
        self._executions: dict[str, int] = {}

    def of(self, tool: str, args_json: str, given: str | None) -> str | None:
        """
        Asking about a call that waits for a human is asking about that call. A framework that runs a call again uses
        its id again; each execution is a call of its own. None: the call has no id yet.
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
