"""Base of the adapters. They use only `call_tool`, `call_model`, `root_run` and `_send_custom_event`."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, TypeVar

from agentlens import _state
from agentlens.calls import CallGuard, ModelAnswer, ModelCall, ToolCall, ours
from agentlens.clock import SystemClock, instant
from agentlens.context import current
from agentlens.decision import Decision
from agentlens.events import Event, Severity, Source
from agentlens.forks import ForkLock
from agentlens.instance import Instance
from agentlens.integrations.registry import version_of
from agentlens.run import Run
from agentlens.run_life import status_of

logger = logging.getLogger("agentlens")
T = TypeVar("T")


class StackedModels:
    """A model built on another one (a cache, a router, a subclass) counts as one call: the outermost is recorded."""

    def __init__(self, framework: str) -> None:
        self._inside: ContextVar[bool] = ContextVar(f"agentlens_{framework}_model", default=False)

    @property
    def inside(self) -> bool:
        return self._inside.get()

    async def call(self, execute: Callable[[], Awaitable[T]]) -> T:
        token = self._inside.set(True)
        try:
            return await execute()
        finally:
            self._inside.reset(token)

    async def stream(self, stream: Callable[[], AsyncIterator[T]]) -> AsyncIterator[T]:
        """Between its items a generator runs in its reader's context, where another model may be called."""
        items = stream()
        try:
            while True:
                token = self._inside.set(True)
                try:
                    item = await anext(items)
                except StopAsyncIteration:
                    return
                finally:
                    self._inside.reset(token)
                yield item
        finally:
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()


class BaseFrameworkPlugin:
    """
    `client` is an AgentLensClient or AsyncAgentLensClient: the handler then works without `init`, over its own
    connection. Without a client it uses the state of `init`. Never raises because of the platform.
    """

    framework_name: ClassVar[str] = "unknown"
    distribution: ClassVar[str | None] = None

    def __init__(
        self, client: Any = None, agent_id: str | None = None, session_id: str | None = None, redact: bool = False
    ) -> None:
        self._client = client
        self._agent_id = agent_id
        self._session_id = session_id
        self._redact = redact
        self._own_lock = ForkLock()
        self._own: Instance | None = None
        self._version = None if self.distribution is None else version_of(self.distribution)

    # -- for adapters ----------------------------------------------------------------------------------------------

    @property
    def instance(self) -> Instance | None:
        if self._client is None:
            return _state.get()
        with self._own_lock:
            if self._own is None:
                from agentlens.integrations.own_client import instance_of

                self._own = instance_of(self, self._client, self._agent_id, self._session_id, self._redact)
            return self._own

    def source(self, component: str | None = None, agent: str | None = None) -> Source:
        return Source(self.framework_name, self._version, component, agent)

    def call_tool(self, call: ToolCall, execute: Callable[[dict[str, Any]], T], refuse: Callable[[Decision], T]) -> T:
        """Decides, executes with the decided arguments and reports. Without `init` it just makes the call."""
        instance = self.instance
        return execute(dict(call.args)) if instance is None else CallGuard(instance).tool(call, execute, refuse)

    async def acall_tool(
        self, call: ToolCall, execute: Callable[[dict[str, Any]], Awaitable[T]], refuse: Callable[[Decision], T]
    ) -> T:
        instance = self.instance
        if instance is None:
            return await execute(dict(call.args))
        return await CallGuard(instance).atool(call, execute, refuse)

    def stream_tool(
        self, call: ToolCall, execute: Callable[[dict[str, Any]], AsyncIterator[T]], refuse: Callable[[Decision], T]
    ) -> AsyncIterator[T]:
        instance = self.instance
        return execute(dict(call.args)) if instance is None else CallGuard(instance).atool_stream(call, execute, refuse)

    def call_model(self, call: ModelCall, execute: Callable[[], T], read: Callable[[T], ModelAnswer]) -> T:
        """Raises RunStopped if the run must stop."""
        instance = self.instance
        return execute() if instance is None else CallGuard(instance).model(call, execute, read)

    async def acall_model(
        self, call: ModelCall, execute: Callable[[], Awaitable[T]], read: Callable[[T], ModelAnswer]
    ) -> T:
        instance = self.instance
        return await execute() if instance is None else await CallGuard(instance).amodel(call, execute, read)

    def stream_model(
        self, call: ModelCall, stream: Callable[[], AsyncIterator[T]], read: Callable[[list[T]], ModelAnswer]
    ) -> AsyncIterator[T]:
        instance = self.instance
        return stream() if instance is None else CallGuard(instance).astream(call, stream, read)

    @contextmanager
    def root_run(self, name: str | None = None) -> Iterator[Run | None]:
        """The run of this context, or a new one that ends with the block."""
        instance = self.instance
        joined = current.get()
        if instance is None or (joined is not None and joined.belongs_to(instance) and not joined.ended):
            yield joined
            return
        with instance.run(agent_id=self._agent_id or name) as run:
            yield run

    @asynccontextmanager
    async def aroot_run(self, name: str | None = None) -> AsyncIterator[Run | None]:
        instance = self.instance
        joined = current.get()
        if instance is None or (joined is not None and joined.belongs_to(instance) and not joined.ended):
            yield joined
            return
        async with instance.run(agent_id=self._agent_id or name) as run:
            yield run

    async def stream_run(self, stream: Callable[[], AsyncIterator[T]], name: str | None = None) -> AsyncIterator[T]:
        """
        A run for the duration of a stream. Between its items the run is not current, because a stream shares its
        reader's context.
        """
        instance, joined = self.instance, current.get()
        if instance is None or (joined is not None and joined.belongs_to(instance) and not joined.ended):
            async for item in stream():
                yield item
            return
        run = await instance.run(agent_id=self._agent_id or name).astart()
        items = stream()
        error: BaseException | None = None
        try:
            while True:
                token = current.set(run)
                try:
                    item = await items.__anext__()
                except StopAsyncIteration:
                    return
                finally:
                    current.reset(token)
                yield item
        except BaseException as raised:
            error = raised
            raise
        finally:
            self.end_run(run, error)

    def end_run(self, run: Run, error: BaseException | None = None) -> None:
        """For frameworks whose start and end are two hooks."""
        with ours("ending a run"):
            run.end(status_of(error), error=error)

    # -- names of the original package: they put events into the sink and never raise --------------------------------

    def _get_client_and_config(self) -> tuple[Any, str, str, bool] | None:
        """(client, agent id, session id, redact) of this handler, or else of `init`; None without either."""
        instance = self.instance
        if instance is None:
            return None
        run = instance.active_run()
        redact = self._redact or instance.settings.redact
        return self._client, self._agent_id or run.agent_id, self._session_id or run.id, redact

    def _send_event(self, client: Any, event: Mapping[str, Any]) -> None:
        """Enqueues an event in wire form, or sends it with another handler's client. Never raises."""
        with ours("sending an event"):
            if client is not None and client is not self._client:
                client._request("POST", "/api/events", json={"events": [dict(event)]})
                return
            instance = self.instance
            if instance is not None:
                instance.sink.put(
                    Event(
                        event.get("id") or instance.new_id(),
                        event["eventType"],
                        event["sessionId"],
                        event["agentId"],
                        instance.clock.now_ms(),
                        event.get("payload") or {},
                        event.get("severity", "info"),
                        event.get("metadata") or {},
                    )
                )

    def _send(
        self,
        event_type: str,
        payload: Mapping[str, Any],
        severity: Severity = "info",
        extra_metadata: Mapping[str, Any] | None = None,
        agent_id: str | None = None,
    ) -> None:
        config = self._get_client_and_config()
        if config is None:
            return
        client, default_agent, session_id, redact = config
        if redact:
            from agentlens.redact.content import without_content

            payload = without_content(payload)
        self._send_event(
            client,
            {
                "sessionId": session_id,
                "agentId": agent_id or default_agent,
                "eventType": event_type,
                "severity": severity,
                "timestamp": self._now(),
                "payload": dict(payload),
                "metadata": {**self.source().metadata(), **(extra_metadata or {})},
            },
        )

    def _send_custom_event(
        self,
        event_type: str,
        data: Mapping[str, Any],
        severity: Severity = "info",
        extra_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._send("custom", {"type": event_type, "data": dict(data)}, severity, extra_metadata)

    def _send_tool_call(self, tool_name: str, call_id: str, arguments: Mapping[str, Any]) -> None:
        self._send("tool_call", {"toolName": tool_name, "callId": call_id, "arguments": dict(arguments)})

    def _send_tool_response(self, tool_name: str, call_id: str, result: Any, duration_ms: float) -> None:
        payload = {"toolName": tool_name, "callId": call_id, "result": result, "durationMs": max(0.0, duration_ms)}
        self._send("tool_response", payload)

    def _send_tool_error(self, tool_name: str, call_id: str, error: str, duration_ms: float) -> None:
        payload = {"toolName": tool_name, "callId": call_id, "error": error, "durationMs": max(0.0, duration_ms)}
        self._send("tool_error", payload, "error")

    @staticmethod
    def _now() -> str:
        return instant(SystemClock().now_ms())
