"""Calls whose start and end are two methods of a handler."""

from __future__ import annotations

import time
import uuid
from typing import Any

# Calls whose end is never reported are evicted, oldest first.
MAX_OPEN_CALLS = 1_000


class OpenCalls:
    """Start time of each call, by its id."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}

    def begin(self) -> str:
        call_id = str(uuid.uuid4())
        self._began[call_id] = time.monotonic()
        if len(self._began) > MAX_OPEN_CALLS:
            del self._began[next(iter(self._began))]
        return call_id

    def end_ms(self, call_id: str) -> float:
        """Duration; 0 for an unknown call."""
        began = self._began.pop(call_id, None)
        return 0.0 if began is None else (time.monotonic() - began) * 1000


def name_of(thing: Any, *attributes: str, otherwise: str = "unknown") -> str:
    """The first of these members that is a string."""
    for attribute in attributes or ("name",):
        found = getattr(thing, attribute, None)
        if isinstance(found, str) and found:
            return found
    return thing if isinstance(thing, str) and thing else otherwise


def told(value: Any) -> str | None:
    return None if value is None else str(value)
