"""Decide, execute, report exactly once. Every integration point uses this implementation."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agentlens.context import already_decided, current, deciding
from agentlens.decision import Decision
from agentlens.errors import RunStopped
from agentlens.events import Source
from agentlens.guard.decider import Question
from agentlens.instance import Instance
from agentlens.model_calls import Usage
from agentlens.run import Run

logger = logging.getLogger("agentlens")
T = TypeVar("T")
Execute = Callable[[dict[str, Any]], T]
Refuse = Callable[[Decision], T]
# As long as an approval waits for a person by default.
APPROVAL_WAIT_S = 900.0


@dataclass(frozen=True)
class ToolCall:
    """
    A call that a framework is about to make. `seam` names the integration point; `run` is the run if the context
    does not know it; `wait` is the number of seconds to wait for a human (None: as set in `init`).
    """

    name: str
    args: Mapping[str, Any]
    seam: str
    call_id: str | None = None
    tags: Sequence[str] = ()
    source: Source = field(default_factory=Source)
    run: Run | None = None
    wait: float | None = None
    # The error that a framework hid in a result; and what to do when a call needs approval, before refusing it.
    error_in: Callable[[Any], str | None] | None = None
    on_pending: Callable[[Decision, Run], None] | None = None


@dataclass(frozen=True)
class ModelCall:
    """A model call; `messages` are `{role, content}`."""

    messages: Sequence[Mapping[str, Any]]
    model: str | None = None
    provider: str | None = None
    source: Source = field(default_factory=Source)
    run: Run | None = None


@dataclass(frozen=True)
class ModelAnswer:
    """Content of a framework's answer; `text` is `None` if it contains only tool calls."""

    text: str | None = None
    usage: Usage | None = None
    model: str | None = None
    finish_reason: str | None = None
    cost_usd: float | None = None


@dataclass
class _Begun:
    run: Run
    decision: Decision
    started_s: float


class CallGuard:
    """Failures of this package are logged and follow the fail mode; errors of tools and models pass unchanged."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    # -- tools -----------------------------------------------------------------------------------------------------

    def tool(self, call: ToolCall, execute: Execute[T], refuse: Refuse[T]) -> T:
        if already_decided(call.name, call.call_id, call.seam):
            return execute(dict(call.args))
        begun = self._before(call)
        if begun.decision.blocked:
            return refuse(begun.decision)
        with _executing(call, begun.run):
            try:
                result = execute(begun.decision.args)
            except BaseException as error:
                self._after(call, begun, None, error)
                raise
        after = self._after(call, begun, result, None)
        return refuse(after) if after is not None and after.blocked else result

    async def atool(self, call: ToolCall, execute: Callable[[dict[str, Any]], Awaitable[T]], refuse: Refuse[T]) -> T:
        if already_decided(call.name, call.call_id, call.seam):
            return await execute(dict(call.args))
        begun = await self._abefore(call)
        if begun.decision.blocked:
            return refuse(begun.decision)
        with _executing(call, begun.run):
            try:
                result = await execute(begun.decision.args)
            except BaseException as error:
                # Also after a cancellation: the end of the call is reported without waiting.
                self._record_end(call, begun, None, error)
                raise
        after = await self._aafter(call, begun, result)
        return refuse(after) if after is not None and after.blocked else result

    def tool_stream(
        self, call: ToolCall, execute: Callable[[dict[str, Any]], Iterator[T]], refuse: Refuse[T]
    ) -> Iterator[T]:
        """Items are forwarded as they come; the call ends when its reader is done with it."""
        if already_decided(call.name, call.call_id, call.seam):
            yield from execute(dict(call.args))
            return
        begun = self._before(call)
        if begun.decision.blocked:
            yield refuse(begun.decision)
            return
        items = 0
        error: BaseException | None = None
        try:
            with _executing(call, begun.run):
                for item in execute(begun.decision.args):
                    items += 1
                    yield item
        except GeneratorExit:
            raise
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._record_end(call, begun, {"items": items}, error)

    async def atool_stream(
        self, call: ToolCall, execute: Callable[[dict[str, Any]], AsyncIterator[T]], refuse: Refuse[T]
    ) -> AsyncIterator[T]:
        if already_decided(call.name, call.call_id, call.seam):
            async for item in execute(dict(call.args)):
                yield item
            return
        begun = await self._abefore(call)
        if begun.decision.blocked:
            yield refuse(begun.decision)
            return
        items = 0
        error: BaseException | None = None
        try:
            with _executing(call, begun.run):
                async for item in execute(begun.decision.args):
                    items += 1
                    yield item
        except GeneratorExit:
            raise
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._record_end(call, begun, {"items": items}, error)

    # -- seams that cannot be one call: hooks before and after -----------------------------------------------------

    def begin_tool(self, call: ToolCall) -> _Begun:
        """For frameworks that only have hooks. Call `end_tool` afterwards if the call was not blocked."""
        return self._before(call)

    async def abegin_tool(self, call: ToolCall) -> _Begun:
        return await self._abefore(call)

    def end_tool(self, call: ToolCall, begun: _Begun, result: Any, error: BaseException | None) -> Decision | None:
        return self._after(call, begun, result, error)

    # -- models ----------------------------------------------------------------------------------------------------

    def model(self, call: ModelCall, execute: Callable[[], T], read: Callable[[T], ModelAnswer]) -> T:
        """Raises RunStopped if the run must stop."""
        run = self._run_of(call.run)
        call_id = self.begin_model(call, run)
        try:
            result = execute()
        except BaseException as error:
            self.end_model(run, call_id, None, error)
            raise
        self.end_model(run, call_id, lambda: read(result), None)
        return result

    async def amodel(self, call: ModelCall, execute: Callable[[], Awaitable[T]], read: Callable[[T], ModelAnswer]) -> T:
        run = self._run_of(call.run)
        call_id = await self.abegin_model(call, run)
        try:
            result = await execute()
        except BaseException as error:
            self.end_model(run, call_id, None, error)
            raise
        self.end_model(run, call_id, lambda: read(result), None)
        return result

    async def astream(
        self, call: ModelCall, stream: Callable[[], AsyncIterator[T]], read: Callable[[list[T]], ModelAnswer]
    ) -> AsyncIterator[T]:
        run = self._run_of(call.run)
        call_id = await self.abegin_model(call, run)
        seen: list[T] = []
        try:
            async for item in stream():
                seen.append(item)
                yield item
        except GeneratorExit:
            self.end_model(run, call_id, lambda: read(seen), None)
            raise
        except BaseException as error:
            self.end_model(run, call_id, None, error)
            raise
        self.end_model(run, call_id, lambda: read(seen), None)

    def begin_model(self, call: ModelCall, run: Run) -> str | None:
        """The id of the call; None if this package failed and fails open."""
        try:
            return run.before_llm(call.messages, model=call.model, provider=call.provider, source=call.source)
        except RunStopped:
            raise
        except Exception as error:  # noqa: BLE001 - said by _by_fail_mode
            self._by_fail_mode("llm.before", "", {}, error, stops=run)
            return None

    async def abegin_model(self, call: ModelCall, run: Run) -> str | None:
        try:
            return await run.abefore_llm(call.messages, model=call.model, provider=call.provider, source=call.source)
        except RunStopped:
            raise
        except Exception as error:  # noqa: BLE001
            self._by_fail_mode("llm.before", "", {}, error, stops=run)
            return None

    def end_model(
        self, run: Run, call_id: str | None, read: Callable[[], ModelAnswer] | None, error: BaseException | None
    ) -> None:
        if call_id is None:
            return
        with ours("reading a model's answer"):
            answer = ModelAnswer()
            with ours("reading a model's answer"):
                answer = ModelAnswer() if read is None else read()
            run.after_llm(
                call_id,
                text=answer.text,
                usage=answer.usage,
                model=answer.model,
                finish_reason=answer.finish_reason,
                cost_usd=answer.cost_usd,
                error=error,
            )

    # -- inside ----------------------------------------------------------------------------------------------------

    def _before(self, call: ToolCall) -> _Begun:
        run = self._run_of(call.run)
        try:
            about = {"call_id": call.call_id, "tags": call.tags, "source": call.source}
            decision = run.before_tool(call.name, call.args, **about)  # type: ignore[arg-type]
            if decision.pending:
                decision = run.wait_for_approval(call.name, decision, timeout=self._wait_s(call), tags=call.tags)
        except Exception as error:  # noqa: BLE001
            decision = self._by_fail_mode("tool.before", call.name, call.args, error)
        return self._begun(call, run, decision)

    async def _abefore(self, call: ToolCall) -> _Begun:
        run = self._run_of(call.run)
        try:
            about = {"call_id": call.call_id, "tags": call.tags, "source": call.source}
            decision = await run.abefore_tool(call.name, call.args, **about)  # type: ignore[arg-type]
            if decision.pending:
                decision = await run.await_approval(call.name, decision, timeout=self._wait_s(call), tags=call.tags)
        except Exception as error:  # noqa: BLE001
            decision = self._by_fail_mode("tool.before", call.name, call.args, error)
        return self._begun(call, run, decision)

    def _begun(self, call: ToolCall, run: Run, decision: Decision) -> _Begun:
        if decision.pending and call.on_pending is not None:
            call.on_pending(decision, run)
        return _Begun(run, decision, self._instance.clock.elapsed_s())

    def _after(self, call: ToolCall, begun: _Begun, result: Any, error: BaseException | None) -> Decision | None:
        try:
            error = error or _hidden_error(call, result)
            return begun.run.after_tool(call.name, begun.decision.args, result, **self._ended(call, begun, error))
        except Exception as ours_error:  # noqa: BLE001
            return self._by_fail_mode("tool.after", call.name, call.args, ours_error)

    async def _aafter(self, call: ToolCall, begun: _Begun, result: Any) -> Decision | None:
        try:
            about = self._ended(call, begun, _hidden_error(call, result))
            return await begun.run.aafter_tool(call.name, begun.decision.args, result, **about)
        except Exception as ours_error:  # noqa: BLE001
            return self._by_fail_mode("tool.after", call.name, call.args, ours_error)

    def _record_end(self, call: ToolCall, begun: _Begun, result: Any, error: BaseException | None) -> None:
        with ours("recording the end of a tool call"):
            begun.run.tool_ended(call.name, begun.decision.args, result, **self._ended(call, begun, error))

    def _ended(self, call: ToolCall, begun: _Begun, error: BaseException | None) -> dict[str, Any]:
        return {
            "call_id": begun.decision.call_id,
            "error": error,
            "duration_ms": (self._instance.clock.elapsed_s() - begun.started_s) * 1000,
            "tags": call.tags,
            "source": call.source,
        }

    def _run_of(self, known: Run | None) -> Run:
        run = current.get()
        if run is not None and not run.ended and run.belongs_to(self._instance):
            return run
        return known if known is not None and not known.ended else self._instance.process_run

    def _wait_s(self, call: ToolCall) -> float:
        configured = self._instance.settings.wait_for_approval if call.wait is None else call.wait
        if configured is not None:
            return configured
        # A framework that can be interrupted needs no thread that waits.
        return APPROVAL_WAIT_S if call.on_pending is None else 0

    def _by_fail_mode(
        self, phase: Any, name: str, args: Mapping[str, Any], error: Exception, stops: Run | None = None
    ) -> Decision:
        logger.error("AgentLens failed inside of a call; fail_mode decides", exc_info=error)
        question = Question(phase, self._instance.new_id(), args, tool=name)
        decision = self._instance.decider.failed(question)
        if stops is not None and decision.blocked:
            stops.stop(decision)
            raise RunStopped(decision)
        return decision


class ToolFailed(Exception):
    """The error that a framework reports for an exception of a tool."""


def _hidden_error(call: ToolCall, result: Any) -> BaseException | None:
    text = None if call.error_in is None else call.error_in(result)
    return None if text is None else ToolFailed(text)


@contextmanager
def _executing(call: ToolCall, run: Run) -> Iterator[None]:
    """Makes the tool's work belong to the run of its call, even if a framework has lost the context."""
    token = current.set(run) if run.bounded else None
    try:
        with deciding(call.name, call.call_id, call.seam):
            yield
    finally:
        if token is not None:
            with suppress(ValueError):  # a generator that was closed in another context
                current.reset(token)


@contextmanager
def ours(what: str) -> Iterator[None]:
    """Errors of this package never reach the agent."""
    try:
        yield
    except Exception:
        logger.exception("AgentLens: %s failed", what)
