"""`init` and `shutdown`: one instance for the process."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentlens import _state
from agentlens._settings import Enforce, FailMode, refuse_unknown, resolve
from agentlens.decision import Actor
from agentlens.guard.breaker import BreakerLimits
from agentlens.instance import Instance
from agentlens.integrations import registry
from agentlens.run import Run
from agentlens.sink import SinkCounts, SinkOptions
from agentlens.transport import Transport

logger = logging.getLogger("agentlens")


@dataclass(frozen=True)
class Status:
    """`integrations`: state of each framework, such as `enforced` or `observed: ...`."""

    started: bool
    session_id: str | None
    events: SinkCounts
    integrations: Mapping[str, str]
    asked: int
    bypassed: int


def init(
    url: str | None = None,
    *,
    server_url: str | None = None,
    api_key: str | None = None,
    agent_id: str | None = None,
    session_id: str | None = None,
    integrations: str | Sequence[str] | None = None,
    enforce: Enforce | None = None,
    fail_mode: FailMode | None = None,
    deadline_ms: int | None = None,
    wait_for_approval: float | None = None,
    redact: bool = False,
    pii_patterns: Sequence[re.Pattern[str]] | None = None,
    pii_filter: Callable[[str], str] | None = None,
    breaker: BreakerLimits | Literal[False] | None = None,
    tags: Mapping[str, str] | None = None,
    heartbeat_ms: int = 30_000,
    drain_ms: int = 5000,
    sink: SinkOptions | None = None,
    sync_mode: bool = False,
    cloud: bool = False,
    **unknown: Any,
) -> str:
    """
    Connects this process, instruments the installed frameworks and returns the session id. A second call has no
    effect until `shutdown`. Raises AuthenticationError if the platform rejects the key, and TypeError or ValueError
    for a wrong option. An unavailable platform is not an error: `fail_mode` applies until it answers.
    """
    options = {key: value for key, value in locals().items() if key != "unknown"}
    refuse_unknown(unknown, tuple(options))
    running = _state.get()
    if running is not None:
        return running.session_id
    return start(Instance(resolve(options, lambda: str(uuid.uuid4()))))


def start(instance: Instance) -> str:
    """`init` with an instance built elsewhere, as in tests."""
    try:
        instance.connect()
    except BaseException:
        instance.close(0)
        raise
    _state.put(instance)
    registry.instrument(instance.settings.integrations)
    return instance.session_id


def start_with(transport: Transport, **options: Any) -> Instance:
    """An instance over another transport; for tests of agents (`agentlens.testing`)."""
    settings = resolve({"api_key": "test", **options}, lambda: str(uuid.uuid4()))
    instance = Instance(settings, transport=transport)
    start(instance)
    return instance


def shutdown(timeout: float = 5.0) -> None:
    """Undoes every patch and sends waiting events for at most `timeout` seconds. `init` can be called again."""
    instance = _state.get()
    if instance is None:
        return
    registry.uninstrument()
    _state.put(None)
    if not instance.close(timeout):
        logger.warning("AgentLens: some events could not be sent within %.1f s", timeout)


def flush(timeout: float = 5.0) -> bool:
    """Sends the waiting events. False if that took longer."""
    instance = _state.get()
    return True if instance is None else instance.sink.flush(timeout)


def status() -> Status:
    instance = _state.get()
    if instance is None:
        return Status(False, None, SinkCounts(), registry.status(), 0, 0)
    decider = instance.decider
    return Status(True, instance.session_id, instance.sink.counts, registry.status(), decider.asked, decider.bypassed)


def current_session_id() -> str | None:
    instance = _state.get()
    return None if instance is None else instance.session_id


def run(
    *,
    run_id: str | None = None,
    agent_id: str | None = None,
    actor: Actor | Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
    model: str | None = None,
    ttl_ms: int | None = None,
    parent: Run | None = None,
) -> Run:
    """
    A run of the agent: `with agentlens.run() as run:` around a request, a turn or a job. `ttl_ms` limits its
    duration. Calls outside any run belong to the process run. `actor` is an `Actor` or a dict of its fields. Raises
    ValueError for an invalid actor.
    """
    return _state.required().run(
        run_id=run_id, agent_id=agent_id, actor=actor, tags=tags, model=model, ttl_ms=ttl_ms, parent=parent
    )
