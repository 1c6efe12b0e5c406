"""The calls of the agent protocol (docs/agent-protocol.md). Each stays within its deadline and never raises."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

import anyio.to_thread

from agentlens.jsonable import write
from agentlens.transport import Reply, Transport, Unanswered
from agentlens.workers import Workers

logger = logging.getLogger("agentlens")
# A retry needs at least this much of the deadline.
MIN_LEFT_S = 0.02


@dataclass(frozen=True)
class Answered:
    """`body` is `None` if the response is not JSON."""

    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def key_refused(self) -> bool:
        return self.status in (401, 403)


@dataclass(frozen=True)
class NoAnswer:
    why: Literal["unavailable", "deadline"]


Outcome = Answered | NoAnswer


class PlatformCalls:
    """
    Makes calls on separate threads, so that the caller's deadline holds against any server. A failed connection or a
    5xx is retried once if there is time.
    """

    def __init__(self, transport: Transport, workers: Workers, deadline_s: float) -> None:
        self._transport = transport
        self._workers = workers
        self._deadline_s = deadline_s

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> Outcome:
        timeout = self._deadline_s if timeout_s is None else timeout_s
        future = self._begin(method, path, body, headers, timeout)
        if not isinstance(future, Future):
            return future
        try:
            return future.result(timeout)
        except (FutureTimeout, CancelledError):
            future.cancel()
            return NoAnswer("deadline")

    async def acall(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Outcome:
        future = self._begin(method, path, body, headers, self._deadline_s)
        if not isinstance(future, Future):
            return future
        try:
            asyncio.get_running_loop()
        except RuntimeError:  # another event loop, such as trio
            return await anyio.to_thread.run_sync(self._wait, future)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._deadline_s)
        except asyncio.TimeoutError:
            return NoAnswer("deadline")

    def in_background(self, work: Callable[[], object]) -> None:
        """For work that no caller waits for; a failure is logged."""

        def run() -> None:
            try:
                work()
            except Exception:
                logger.exception("AgentLens: background work failed")

        try:
            self._workers.submit(run)
        except RuntimeError:
            logger.debug("AgentLens: no thread is left for work in the background")

    def _wait(self, future: Future[Outcome]) -> Outcome:
        try:
            return future.result(self._deadline_s)
        except (FutureTimeout, CancelledError):
            future.cancel()
            return NoAnswer("deadline")

    def _begin(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
        timeout_s: float,
    ) -> Future[Outcome] | NoAnswer:
        content = None if body is None else write(body).encode("utf-8", "replace")
        until = time.monotonic() + timeout_s
        try:
            return self._workers.submit(lambda: self._tries(method, path, content, headers or {}, until))
        except RuntimeError:
            return NoAnswer("unavailable")

    def _tries(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], until: float) -> Outcome:
        outcome = self._attempt(method, path, body, headers, until)
        broke = outcome.status >= 500 if isinstance(outcome, Answered) else outcome.why == "unavailable"
        if broke and until - time.monotonic() >= MIN_LEFT_S:
            return self._attempt(method, path, body, headers, until)
        return outcome

    def _attempt(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], until: float) -> Outcome:
        left = until - time.monotonic()
        if left <= 0:
            return NoAnswer("deadline")
        try:
            return read_reply(self._transport.send(method, path, body, headers, left))
        except Unanswered as error:
            return NoAnswer(error.why)


def read_reply(reply: Reply) -> Answered:
    try:
        body = json.loads(reply.text)
    except (ValueError, RecursionError):
        body = None
    return Answered(reply.status, body, reply.headers)


def run_path(run_id: str, call: str) -> str:
    return f"/v1/runs/{quote(run_id, safe='')}/{call}"
