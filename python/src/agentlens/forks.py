"""Locks that are safe in a forked child: a lock held by another thread during the fork would stay locked."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any


class ForkLock:
    """A re-entrant lock, replaced in a forked child, where `reset` is then called."""

    def __init__(self, reset: Callable[[], None] | None = None) -> None:
        self._lock = threading.RLock()
        # A bound method would keep its owner alive through the registry; the registry only holds this lock, weakly.
        self._reset: Any = None
        if reset is not None:
            owner = getattr(reset, "__self__", None)
            self._reset = weakref.WeakMethod(reset) if owner is not None else (lambda: reset)
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def renew(self) -> None:
        self._lock = threading.RLock()
        reset = None if self._reset is None else self._reset()
        if reset is not None:
            reset()


_locks: weakref.WeakSet[ForkLock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):  # absent on Windows, which does not fork
    os.register_at_fork(after_in_child=_renew_all)
