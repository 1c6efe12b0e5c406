"""
Threads that never block process exit. `ThreadPoolExecutor` joins its threads at exit, so a hanging server would keep
the agent alive, and it accepts no work during `atexit`. These threads are daemons and do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

from agentlens.forks import ForkLock

T = TypeVar("T")
_Task = Callable[[], None]


class Workers:
    """Up to `most` daemon threads, created on demand. Excess work waits, and never runs if it is cancelled first."""

    def __init__(self, most: int = 16, name: str = "agentlens-worker", idle_s: float = 60.0) -> None:
        self._most = most
        self._name = name
        self._idle_s = idle_s
        self._lock = ForkLock(self._begin_anew)
        self._begin_anew()

    def _begin_anew(self) -> None:
        """A forked child has no threads, and waiting work belongs to the parent."""
        self._tasks: SimpleQueue[_Task] = SimpleQueue()
        self._threads = 0
        # Idle threads without an assigned task; tasks without an assigned thread.
        self._idle = 0
        self._backlog = 0

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Raises RuntimeError if there is no thread and none can be started, as at interpreter exit."""
        future: Future[T] = Future()

        def task() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 - passed to the waiting caller
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._lock:
            if self._idle > 0:
                self._idle -= 1
            elif not self._started():
                self._backlog += 1
            self._tasks.put(task)
        return future

    def _started(self) -> bool:
        if self._threads >= self._most:
            return False
        thread = threading.Thread(target=self._work, args=(self._tasks,), name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            if self._threads == 0:
                raise
            return False
        self._threads += 1
        return True

    def _work(self, tasks: SimpleQueue[_Task]) -> None:
        while True:
            try:
                task = tasks.get(timeout=self._idle_s)
            except Empty:
                with self._lock:
                    if self._idle == 0:
                        continue  # a task is on its way to this thread
                    self._idle -= 1
                    self._threads -= 1
                    return
            task()
            del task
            with self._lock:
                if self._backlog > 0:
                    self._backlog -= 1
                else:
                    self._idle += 1
