"""Batches of events and their delivery."""

from __future__ import annotations

import email.utils
import logging
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass

from agentlens.clock import Clock
from agentlens.forks import ForkLock
from agentlens.platform import Answered, read_reply
from agentlens.transport import Transport, Unanswered
from agentlens.workers import Workers

logger = logging.getLogger("agentlens")
PATH = "/api/events?partial=true"
# A rejected key may be fixed; until then one attempt per minute.
REFUSED_PAUSE_S = 60.0
MAX_RETRY_AFTER_S = 60.0
_WORTH_ANOTHER_TRY = (408, 425, 429)


@dataclass(frozen=True)
class Batch:
    """`own` are the first events, which are counted; a report of `reported` dropped ones may follow them."""

    id: str
    events: tuple[str, ...]
    own: int
    reported: int

    def body(self) -> bytes:
        return ('{"events":[' + ",".join(self.events) + "]}").encode("utf-8", "replace")

    def halves(self, new_id: Callable[[], str]) -> tuple[Batch, Batch]:
        """Two batches with new ids; the report goes with the second."""
        middle = max(1, len(self.events) // 2)
        first = min(middle, self.own)
        return (
            Batch(new_id(), self.events[:middle], first, 0),
            Batch(new_id(), self.events[middle:], self.own - first, self.reported),
        )


@dataclass(frozen=True)
class Sent:
    refused: int = 0


@dataclass(frozen=True)
class TooLarge:
    pass


@dataclass(frozen=True)
class Lost:
    why: str


class Delivery:
    """
    Attempts to send one batch, always the same bytes under the same `Idempotency-Key`, so that nothing is counted
    twice. `random` returns 0 to 1.
    """

    def __init__(
        self,
        transport: Transport,
        workers: Workers,
        *,
        attempts: int,
        backoff_base_s: float,
        backoff_most_s: float,
        send_timeout_s: float,
        clock: Clock,
        random: Callable[[], float],
    ) -> None:
        self._transport = transport
        self._workers = workers
        self._attempts = attempts
        self._backoff_base_s = backoff_base_s
        self._backoff_most_s = backoff_most_s
        self._send_timeout_s = send_timeout_s
        self._clock = clock
        self._random = random
        self._lock = ForkLock(self._begin_anew)
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._hurry = threading.Event()
        self._refusal_logged = False

    def hurry(self, wanted: bool) -> None:
        """True during a drain: backoff delays end, and a rejected key is not retried."""
        if wanted:
            self._hurry.set()
        else:
            self._hurry.clear()

    def send(self, batch: Batch) -> Sent | TooLarge | Lost:
        body = batch.body()
        last = "no answer"
        attempt = 0
        while attempt < self._attempts:
            answer = self._attempt(body, batch.id)
            if answer is not None and answer.ok:
                self._refusal_logged = False
                return Sent(_refused_of(answer))
            if answer is not None and answer.key_refused:
                self._log_refusal(answer.status)
                if self._hurry.is_set():
                    return Lost(f"the platform refused the key ({answer.status})")
                self._hurry.wait(REFUSED_PAUSE_S)
                continue
            if answer is not None and answer.status == 413 and len(batch.events) > 1:
                return TooLarge()
            if answer is not None and answer.status < 500 and answer.status not in _WORTH_ANOTHER_TRY:
                return Lost(f"the platform rejected it with {answer.status}")
            last = "no answer" if answer is None else str(answer.status)
            attempt += 1
            if attempt < self._attempts:
                self._hurry.wait(self._pause_s(attempt - 1, answer))
        return Lost(f"it failed {self._attempts} times (last: {last})")

    def _attempt(self, body: bytes, batch_id: str) -> Answered | None:
        headers = {"idempotency-key": batch_id}
        timeout = self._send_timeout_s
        try:
            future = self._workers.submit(lambda: self._transport.send("POST", PATH, body, headers, timeout))
        except RuntimeError:
            # At interpreter exit no threads can be started; this one only enforces the timeout per read.
            return self._in_this_thread(body, headers)
        try:
            return read_reply(future.result(timeout))
        except (FutureTimeout, CancelledError, Unanswered):
            future.cancel()
            return None

    def _in_this_thread(self, body: bytes, headers: dict[str, str]) -> Answered | None:
        try:
            return read_reply(self._transport.send("POST", PATH, body, headers, self._send_timeout_s))
        except Unanswered:
            return None

    def _pause_s(self, attempt: int, answer: Answered | None) -> float:
        asked = None if answer is None else retry_after_s(answer.headers.get("retry-after"), self._clock.now_ms())
        bound = min(self._backoff_most_s, self._backoff_base_s * 2 ** min(attempt, 30))
        # Full jitter, so that clients do not retry at the same time.
        return asked if asked is not None else self._random() * bound

    def _log_refusal(self, status: int) -> None:
        if not self._refusal_logged:
            self._refusal_logged = True
            logger.warning("AgentLens: the platform rejects events of this key (%d: does it have `ingest`?)", status)


def retry_after_s(header: str | None, now_ms: float) -> float | None:
    """Parses seconds or a date as in HTTP; None if unusable."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - now_ms / 1000
        except (ValueError, TypeError):
            return None
    return min(seconds, MAX_RETRY_AFTER_S) if 0 <= seconds < float("inf") else None


def _refused_of(answer: Answered) -> int:
    """207 reports that some events were rejected; any other success means that none were."""
    rejected = answer.body.get("rejected") if answer.status == 207 and isinstance(answer.body, dict) else 0
    return int(rejected) if isinstance(rejected, int | float) and rejected > 0 else 0
