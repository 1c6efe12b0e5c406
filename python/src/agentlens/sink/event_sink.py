"""A bounded queue, batches, and retries that repeat the same bytes."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from agentlens.clock import Clock
from agentlens.events import Event, wire_event
from agentlens.forks import ForkLock
from agentlens.redact.content import ContentFilter
from agentlens.sink.batch import Batch, Delivery, Lost, Sent, TooLarge

logger = logging.getLogger("agentlens")


@dataclass(frozen=True)
class SinkOptions:
    """Maximum waiting events (the oldest are dropped), events and attempts per batch; times are in seconds."""

    max_queue: int = 2_000
    batch_size: int = 100
    flush_s: float = 1.0
    attempts: int = 8
    backoff_base_s: float = 0.5
    backoff_most_s: float = 10.0
    send_timeout_s: float = 5.0


@dataclass(frozen=True)
class SinkCounts:
    """Exact: `enqueued = delivered + dropped + waiting`."""

    enqueued: int = 0
    delivered: int = 0
    dropped: int = 0
    waiting: int = 0


class EventSink:
    """
    `put` never blocks and never raises because of an event's content. Dropped events are reported with the next
    batch that is delivered, as a custom event `sink.dropped {count, total}`.
    """

    def __init__(
        self,
        delivery: Delivery,
        options: SinkOptions,
        content: ContentFilter,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        sync_mode: bool = False,
    ) -> None:
        self._delivery = delivery
        self._options = options
        self._content = content
        self._clock = clock
        self._new_id = new_id
        self._sync_mode = sync_mode
        self._lock = ForkLock(self._begin_anew)
        self._begin_anew()

    def _begin_anew(self) -> None:
        """In a forked child: waiting events belong to the parent."""
        self._queue: deque[Event] = deque()
        self._changed = threading.Condition(threading.Lock())
        self._thread: threading.Thread | None = None
        self._enqueued = self._delivered = self._dropped = self._in_flight = 0
        self._reported = 0
        self._draining = 0
        self._closed = False
        self._last: Event | None = None

    @property
    def counts(self) -> SinkCounts:
        with self._changed:
            return SinkCounts(self._enqueued, self._delivered, self._dropped, len(self._queue) + self._in_flight)

    def put(self, event: Event) -> None:
        with self._changed:
            self._enqueued += 1
            self._last = event
            if self._closed:
                self._dropped += 1
                return
            if len(self._queue) >= self._options.max_queue:
                self._queue.popleft()
                self._dropped += 1
            self._queue.append(event)
            self._start_thread()
            # The first event starts the flush interval; a full batch ends it.
            if len(self._queue) == 1 or len(self._queue) >= self._options.batch_size:
                self._changed.notify_all()
        if self._sync_mode:
            self._send_waiting()

    def flush(self, timeout_s: float) -> bool:
        """Sends waiting events; False on timeout. Cuts backoff delays short."""
        until = self._clock.elapsed_s() + timeout_s
        with self._changed:
            self._draining += 1
            self._delivery.hurry(True)
            self._start_thread()
            self._changed.notify_all()
            try:
                while self._queue or self._in_flight:
                    left = until - self._clock.elapsed_s()
                    if left <= 0:
                        return False
                    self._changed.wait(left)
                return True
            finally:
                self._draining -= 1
                if self._draining == 0 and not self._closed:
                    self._delivery.hurry(False)

    def close(self, timeout_s: float) -> bool:
        """Drains and stops accepting events. Those that could not be sent in time count as dropped."""
        drained = self.flush(timeout_s)
        with self._changed:
            self._closed = True
            self._delivery.hurry(True)
            self._dropped += len(self._queue)
            self._queue.clear()
            self._changed.notify_all()
        return drained

    def _start_thread(self) -> None:
        if self._sync_mode or (self._thread is not None and self._thread.is_alive()):
            return
        thread = threading.Thread(target=self._work, name="agentlens-sink", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return  # the interpreter is shutting down; later events are lost with it
        self._thread = thread

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._queue and not self._closed:
                    self._changed.wait()
                if not self._closed and self._draining == 0 and len(self._queue) < self._options.batch_size:
                    self._changed.wait(self._options.flush_s)
                if self._closed and not self._queue:
                    return
            try:
                self._send_waiting()
            except Exception:
                logger.exception("AgentLens: sending events failed")

    def _send_waiting(self) -> None:
        while (batch := self._next_batch()) is not None:
            try:
                self._deliver(batch)
            finally:
                with self._changed:
                    self._in_flight -= batch.own
                    self._changed.notify_all()

    def _next_batch(self) -> Batch | None:
        with self._changed:
            taken = [self._queue.popleft() for _ in range(min(len(self._queue), self._options.batch_size))]
            unreported = self._dropped - self._reported
            if not taken:
                return None
            self._reported += unreported
            self._in_flight += len(taken)
            total = self._dropped
        events = [self._written(event) for event in taken]
        if unreported > 0:
            events.append(self._written(self._report(taken[-1], unreported, total)))
        return Batch(self._new_id(), tuple(events), len(taken), unreported)

    def _written(self, event: Event) -> str:
        return wire_event(event, self._content)

    def _report(self, beside: Event, count: int, total: int) -> Event:
        payload = {"type": "sink.dropped", "data": {"count": count, "total": total}}
        return Event(self._new_id(), "custom", beside.run_id, beside.agent_id, self._clock.now_ms(), payload, "warn")

    def _deliver(self, batch: Batch) -> None:
        """Counts every event of the batch once, as delivered or dropped."""
        try:
            outcome = self._delivery.send(batch)
        except Exception:
            self._count(delivered=0, dropped=batch.own, unreported=batch.reported)
            raise
        if isinstance(outcome, Sent):
            refused = min(outcome.refused, batch.own)
            self._count(delivered=batch.own - refused, dropped=refused, unreported=0)
            if refused > 0:
                logger.warning("AgentLens: the platform rejected %d events of a batch", refused)
        elif isinstance(outcome, TooLarge):
            for half in batch.halves(self._new_id):
                self._deliver(half)
        elif isinstance(outcome, Lost):
            self._count(delivered=0, dropped=batch.own, unreported=batch.reported)
            logger.warning("AgentLens: a batch of %d events was dropped: %s", batch.own, outcome.why)

    def _count(self, *, delivered: int, dropped: int, unreported: int) -> None:
        with self._changed:
            self._delivered += delivered
            self._dropped += dropped
            # Reported again with the next batch.
            self._reported -= unreported
