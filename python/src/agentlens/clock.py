"""Injectable time, so that tests can control it."""

from __future__ import annotations

import datetime
import time
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> float:
        """Epoch milliseconds; may jump."""

    def elapsed_s(self) -> float:
        """Monotonic seconds."""


class SystemClock:
    def now_ms(self) -> float:
        return time.time() * 1000

    def elapsed_s(self) -> float:
        return time.monotonic()


def instant(ms: float) -> str:
    """RFC 3339 in UTC with milliseconds; a time outside the date range becomes the epoch."""
    try:
        at = datetime.datetime.fromtimestamp(ms / 1000, tz=datetime.timezone.utc)
    except (OverflowError, OSError, ValueError):
        at = datetime.datetime.fromtimestamp(0, tz=datetime.timezone.utc)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"
