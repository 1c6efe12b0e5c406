"""The connection of a handler with its own client instead of `init`."""

from __future__ import annotations

import json
import threading
import uuid
import weakref
from collections.abc import Mapping
from typing import Any

from agentlens._settings import environment_enforce, resolve
from agentlens.errors import AgentLensError
from agentlens.instance import Instance
from agentlens.transport import HttpTransport, Reply, Transport, Unanswered


def instance_of(handler: object, client: Any, agent_id: str | None, session_id: str | None, redact: bool) -> Instance:
    """
    An instance that observes through `client`. It is drained when the process ends, and closed when `handler` is
    collected. AGENTLENS_ENFORCE=enforce makes it enforce.
    """
    transport = _transport_of(client)
    options = {
        "api_key": getattr(client, "api_key", None),
        "url": getattr(client, "url", None),
        "agent_id": agent_id,
        "session_id": session_id,
        "redact": redact,
        "enforce": environment_enforce() or "shadow",
    }
    instance = Instance(resolve(options, lambda: str(uuid.uuid4())), transport=transport)
    instance.drain_at_exit()
    weakref.finalize(handler, _close, instance).atexit = False
    return instance


def _close(instance: Instance) -> None:
    # The garbage collector runs on any thread; closing may wait for the network.
    thread = threading.Thread(target=instance.close, args=(instance.settings.drain_ms / 1000,), daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return  # the interpreter is shutting down and drains the instance itself


def _transport_of(client: Any) -> Transport:
    url, api_key = getattr(client, "url", None), getattr(client, "api_key", None)
    return HttpTransport(url, api_key or "") if isinstance(url, str) else _RequestTransport(client)


class _RequestTransport:
    """Sends through `_request` of another client class, such as a test double."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float) -> Reply:
        content = None if body is None else json.loads(body)
        try:
            answer = self._client._request(method, path, json=content)
        except AgentLensError as error:
            status = getattr(error, "status", 0) or 0
            if status < 400:
                raise Unanswered("unavailable") from error
            return Reply(status, "{}")
        except Exception as error:
            raise Unanswered("unavailable") from error
        return Reply(200, json.dumps(answer, default=str))

    def close(self) -> None:
        """The client belongs to the program."""
