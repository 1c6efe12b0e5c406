"""Locks that a forked child can use: one that another thread held at the fork would stay held for ever."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any


class ForkLock:
    """A re-entrant lock, new in a forked child; `reset` is called there with it."""

    def __init__(self, reset: Callable[[], None] | None = None) -> None:
        self._lock = threading.RLock()
        # A bound method would keep its owner alive through the registry; the registry holds only this lock, weakly.
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
