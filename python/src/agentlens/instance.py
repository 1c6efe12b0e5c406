"""Created by `init`: the process's client of the platform."""

from __future__ import annotations

import atexit
import logging
import os
import random
import socket
import uuid
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from agentlens import _state
from agentlens._settings import DEFAULT_AGENT, Settings
from agentlens._version import VERSION
from agentlens.clock import Clock, SystemClock
from agentlens.context import current
from agentlens.decision import Actor
from agentlens.errors import AuthenticationError
from agentlens.events import name_of
from agentlens.forks import ForkLock
from agentlens.guard.breaker import BreakerLimits
from agentlens.guard.decider import Decider
from agentlens.guard.monitor import RunMonitor
from agentlens.guard.operator_orders import OperatorOrders
from agentlens.guard.outage import OutagePause
from agentlens.guard.rule_bundle import RuleBundleReader
from agentlens.ids import new_id as system_id
from agentlens.platform import Answered, NoAnswer, Outcome, PlatformCalls
from agentlens.redact.content import ContentFilter
from agentlens.run import Run
from agentlens.sink import EventSink
from agentlens.sink.batch import Delivery
from agentlens.transport import HttpTransport, Transport
from agentlens.workers import Workers

logger = logging.getLogger("agentlens")


class Instance:
    """Everything of one `init`. `transport`, `clock`, `new_id` and `random` are replaceable for tests."""

    def __init__(
        self,
        settings: Settings,
        *,
        transport: Transport | None = None,
        clock: Clock | None = None,
        new_id: Callable[[], str] = system_id,
        random: Callable[[], float] = random.random,
    ) -> None:
        self.settings = settings
        self.version = VERSION
        self._warned: set[str] = set()
        self.session_id = settings.session_id
        self.clock: Clock = clock or SystemClock()
        self.new_id = new_id
        self.transport: Transport = transport or HttpTransport(settings.url, settings.api_key)
        self.agent_id = name_of(settings.agent_id or DEFAULT_AGENT)
        self.platform = PlatformCalls(self.transport, Workers(16), settings.deadline_ms / 1000)
        self.outage = OutagePause(self.clock)
        self.bundle = RuleBundleReader(self.platform, settings.api_key, self.agent_id, self.clock)
        self.operator_orders = OperatorOrders()
        self.decider = Decider(
            self.platform,
            self.outage,
            self.bundle,
            enforce=settings.enforce,
            fail_mode=settings.fail_mode,
            deadline_ms=settings.deadline_ms,
            new_id=new_id,
            warn_once=self.warn_once,
        )
        self.sink = EventSink(
            Delivery(
                self.transport,
                Workers(4, "agentlens-events"),
                attempts=settings.sink.attempts,
                backoff_base_s=settings.sink.backoff_base_s,
                backoff_most_s=settings.sink.backoff_most_s,
                send_timeout_s=settings.sink.send_timeout_s,
                clock=self.clock,
                random=random,
            ),
            settings.sink,
            ContentFilter(settings.redact, settings.pii_patterns, settings.pii_filter),
            clock=self.clock,
            new_id=new_id,
            sync_mode=settings.sync_mode,
        )
        self._lock = ForkLock(self._begin_anew)
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.instance_id = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._process_run: Run | None = None
        self._live: weakref.WeakSet[Run] = weakref.WeakSet()
        self.monitor = RunMonitor(self)

    # -- at init ---------------------------------------------------------------------------------------------------

    def connect(self) -> None:
        """Registers the agent. Raises AuthenticationError; an unavailable platform is logged once and retried."""
        if self.settings.enforce == "off":
            return
        outcome = self.platform.call("POST", "/v1/agents", {"slug": self.agent_id})
        self._connected(outcome)
        self._tell_limits()

    def _connected(self, outcome: Outcome) -> None:
        if isinstance(outcome, Answered):
            if outcome.key_refused:
                raise AuthenticationError(_refusal(outcome, self.settings.api_key), outcome.status)
            if outcome.ok:
                self.outage.answered()
                self.bundle.read()
                return
        why = f"it answered {outcome.status}" if isinstance(outcome, Answered) else outcome.why
        logger.warning(
            "AgentLens: no platform at %s (%s); fail_mode=%s applies until it answers",
            self.settings.url,
            why,
            self.settings.fail_mode,
        )

    def _tell_limits(self) -> None:
        """A default limit must not be a surprise."""
        limits = self.settings.breaker
        if limits is None or not self.settings.is_default_breaker:
            return
        if self.bundle.default_breaker_off or self.bundle.breaker_limits() is not None:
            return
        self.warn_once(
            f"unless the platform sets other limits, a run is stopped after {limits.max_iterations:g} model calls, "
            f"{limits.max_tokens:,.0f} tokens, {limits.max_cost_usd:g} USD or "
            f"{limits.max_consecutive_failures:g} failures in a row; change it with the option `breaker`"
        )

    def warn_once(self, message: str) -> None:
        """Logs a warning for the developer, the first time only."""
        if message in self._warned:
            return
        self._warned.add(message)
        logger.warning("agentlens: %s", message)

    # -- runs ------------------------------------------------------------------------------------------------------

    def run(
        self,
        *,
        run_id: str | None = None,
        agent_id: str | None = None,
        actor: Actor | Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
        model: str | None = None,
        ttl_ms: int | None = None,
        parent: Run | None = None,
    ) -> Run:
        chosen = self.settings.agent_id or agent_id or self.agent_id
        return Run(
            self,
            name_of(run_id or self.new_id()),
            agent_id=name_of(chosen),
            actor=_actor(actor),
            tags=tags,
            model=model,
            ttl_ms=ttl_ms,
            parent=parent,
        )

    @property
    def process_run(self) -> Run:
        """The run for calls outside all others; its id is the session's."""
        with self._lock:
            if self._process_run is None:
                self._process_run = Run(self, name_of(self.session_id), agent_id=self.agent_id, bounded=False)
            return self._process_run

    def active_run(self) -> Run:
        run = current.get()
        return run if run is not None and run.belongs_to(self) and not run.ended else self.process_run

    def run_began(self, run: Run) -> None:
        with self._lock:
            self._live.add(run)
        self.monitor.wake()

    def run_ended(self, run: Run) -> None:
        with self._lock:
            self._live.discard(run)

    def live_runs(self) -> list[Run]:
        with self._lock:
            return [run for run in self._live if run.bounded]

    def breaker_limits(self) -> BreakerLimits | None:
        """The platform's limits for the agent take precedence."""
        if self.settings.enforce == "off" or self.settings.breaker is None:
            return None
        limits = self.bundle.breaker_limits()
        if limits is None and self.settings.is_default_breaker and self.bundle.default_breaker_off:
            return None
        return limits or self.settings.breaker

    # -- calls about a run's life ----------------------------------------------------------------------------------

    def life_call(self, path: str, body: Mapping[str, Any]) -> Outcome:
        if not self.outage.may_ask():
            return NoAnswer("unavailable")
        return self._heard(self.platform.call("POST", path, body))

    async def alife_call(self, path: str, body: Mapping[str, Any]) -> Outcome:
        if not self.outage.may_ask():
            return NoAnswer("unavailable")
        return self._heard(await self.platform.acall("POST", path, body))

    def _heard(self, outcome: Outcome) -> Outcome:
        if isinstance(outcome, NoAnswer) or outcome.status >= 500:
            self.outage.failed()
        else:
            self.outage.answered()
        return outcome

    # -- the end ---------------------------------------------------------------------------------------------------

    def drain_at_exit(self) -> None:
        """For an instance that was not created by `init`."""
        _drained_at_exit.add(self)

    def close(self, timeout_s: float) -> bool:
        _drained_at_exit.discard(self)
        with self._lock:
            process_run = self._process_run
        self.monitor.stop()
        if process_run is not None:
            process_run.end("success")
        drained = self.sink.close(timeout_s)
        self.transport.close()
        return drained


def _refusal(outcome: Answered, api_key: str) -> str:
    reason = outcome.body.get("error") if isinstance(outcome.body, dict) else None
    what = "no API key was given (api_key= or AGENTLENS_API_KEY)" if not api_key else "the platform refused the API key"
    return f"{what}: {outcome.status} {reason or ''}".strip() + "; an agent's key has the scopes `ingest` and `decide`"


def _actor(given: Actor | Mapping[str, Any] | None) -> Actor | None:
    if given is None or isinstance(given, Actor):
        return given
    try:
        return Actor.model_validate(given)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'it'}: {problem['msg']}" for problem in error.errors()
        )
        raise ValueError(f"run: actor is not usable ({problems}); it has external_id, name and metadata") from None


_drained_at_exit: set[Instance] = set()


def _drain_at_exit() -> None:
    of_init = _state.get()
    for instance in [*_drained_at_exit, *([] if of_init is None else [of_init])]:
        instance.close(instance.settings.drain_ms / 1000)


atexit.register(_drain_at_exit)
