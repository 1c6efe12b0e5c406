"""Avoids waiting for a platform that does not answer."""

from __future__ import annotations

from agentlens.clock import Clock
from agentlens.forks import ForkLock

FAILURES_BEFORE_PAUSE = 3
PROBE_EVERY_S = 5.0


class OutagePause:
    """
    After three consecutive failures, only one request in five seconds goes to the platform; the fail mode answers
    the others at once. Otherwise a hanging server would cost every call its whole deadline.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = ForkLock()
        self._failures = 0
        self._next_probe_at = 0.0

    def may_ask(self) -> bool:
        with self._lock:
            if self._failures < FAILURES_BEFORE_PAUSE:
                return True
            now = self._clock.elapsed_s()
            if now < self._next_probe_at:
                return False
            self._next_probe_at = now + PROBE_EVERY_S
            return True

    def answered(self) -> None:
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures == FAILURES_BEFORE_PAUSE:
                self._next_probe_at = self._clock.elapsed_s() + PROBE_EVERY_S
