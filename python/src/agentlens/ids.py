"""Time-ordered ids."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from agentlens.forks import ForkLock

_RANDOM_BITS = 74


class MonotonicIds:
    """
    UUIDv7 that also increase within one millisecond, because events of the same time are sorted by id. `now_ms` is
    epoch milliseconds, `random_bytes(n)` returns n bytes.
    """

    def __init__(self, now_ms: Callable[[], int] | None = None, random_bytes: Callable[[int], bytes] = os.urandom):
        self._now_ms = now_ms or (lambda: time.time_ns() // 1_000_000)
        self._random_bytes = random_bytes
        self._lock = ForkLock(self._forget)
        self._at = 0
        self._tail = 0

    def new(self) -> str:
        with self._lock:
            now = max(0, self._now_ms())
            if now > self._at:
                self._at = now
                # The highest bit stays free, so that incrementing within a millisecond never overflows.
                self._tail = int.from_bytes(self._random_bytes(10), "big") >> (80 - _RANDOM_BITS + 1)
            else:
                self._tail += 1 + int.from_bytes(self._random_bytes(2), "big")
            return _format(self._at, self._tail)

    def _forget(self) -> None:
        """A forked child must not continue its parent's ids."""
        self._at = 0


def _format(at_ms: int, tail: int) -> str:
    high = tail >> 62 & 0xFFF
    low = tail & (1 << 62) - 1
    value = (at_ms & (1 << 48) - 1) << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low
    text = f"{value:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


new_id = MonotonicIds().new
