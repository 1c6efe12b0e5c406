"""All HTTP of this package."""

from __future__ import annotations

# Imported at module level: importing on a thread during a fork would leave the import lock held in the child.
import encodings.idna  # noqa: F401
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import httpcore  # noqa: F401 - see above
import httpx

from agentlens._version import VERSION
from agentlens.forks import ForkLock

MAX_ANSWER_BYTES = 10_000_000


@dataclass(frozen=True)
class Reply:
    """`headers` by lower-case name."""

    status: int
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)


class Unanswered(Exception):
    """No response, or none in time."""

    def __init__(self, why: Literal["unavailable", "deadline"]) -> None:
        super().__init__(why)
        self.why = why


class Transport(Protocol):
    def send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float) -> Reply:
        """One attempt. Raises Unanswered."""

    def close(self) -> None: ...


class HttpTransport:
    """
    One connection pool for all threads. An httpx timeout applies to each read, so a server that sends single bytes
    would never hit it: the body is read against a clock, and the caller enforces its own deadline.
    """

    def __init__(self, base_url: str, api_key: str) -> None:
        self._base_url = base_url.rstrip("/")
        self._headers = {"authorization": f"Bearer {api_key}", "user-agent": f"agentlens-guard/{VERSION}"}
        self._lock = ForkLock(self._begin_anew)
        self._begin_anew()
        self._opened()

    def _begin_anew(self) -> None:
        """A forked child must not use its parent's connections."""
        self._client: httpx.Client | None = None

    def send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float) -> Reply:
        until = time.monotonic() + timeout_s
        try:
            with self._opened().stream(
                method,
                self._base_url + path,
                content=body,
                headers={**self._headers, **({} if body is None else {"content-type": "application/json"}), **headers},
                timeout=max(timeout_s, 0.001),
            ) as answer:
                text = self._read(answer, until)
                return Reply(answer.status_code, text, {key.lower(): value for key, value in answer.headers.items()})
        except httpx.TimeoutException:
            raise Unanswered("deadline") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, RuntimeError):
            # RuntimeError: the client was closed during this call.
            raise Unanswered("unavailable") from None

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _opened(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                limits = httpx.Limits(max_connections=32, max_keepalive_connections=16)
                self._client = httpx.Client(limits=limits, follow_redirects=False)
            return self._client

    @staticmethod
    def _read(answer: httpx.Response, until: float) -> str:
        chunks: list[bytes] = []
        size = 0
        for chunk in answer.iter_bytes():
            chunks.append(chunk)
            size += len(chunk)
            if time.monotonic() > until:
                raise Unanswered("deadline")
            if size > MAX_ANSWER_BYTES:
                raise Unanswered("unavailable")
        return b"".join(chunks).decode("utf-8", "replace")
