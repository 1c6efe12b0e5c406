"""One execution of an agent: a request, a turn of a conversation, a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Any

from agentlens.context import current
from agentlens.decision import Actor, Decision, Subject
from agentlens.events import Severity, Source, name_of
from agentlens.guard.breaker import BreakerReason, CallUsage
from agentlens.guard.decider import Question
from agentlens.guard.operator_orders import OrderedState
from agentlens.guard.run_breaker import RunBreaker
from agentlens.model_calls import Message, Usage
from agentlens.platform import Answered, Outcome, run_path
from agentlens.run_life import RunEnding, RunLife, RunStatus, status_of
from agentlens.run_model_calls import RunModelCalls
from agentlens.run_stop import RunStop
from agentlens.run_story import SDK, RunStory
from agentlens.run_tool_calls import RunToolCalls
from agentlens.waiting import apause, pause

if TYPE_CHECKING:
    from agentlens.instance import Instance


class Run:
    """
    Created by `agentlens.run()`; use it in `with` or `async with`. No method raises because the platform is
    unavailable, and none waits longer than the deadline. Methods that request decisions have an async twin.
    """

    def __init__(
        self,
        instance: Instance,
        run_id: str,
        *,
        agent_id: str,
        actor: Actor | None = None,
        tags: Mapping[str, str] | None = None,
        model: str | None = None,
        ttl_ms: int | None = None,
        parent: Run | None = None,
        bounded: bool = True,
    ) -> None:
        self._instance = instance
        self.id = run_id
        self.agent_id = agent_id
        self.session_id = instance.session_id
        self.actor = actor
        self.tags: Mapping[str, str] = {**instance.settings.tags, **(tags or {})}
        self.model = model
        self.parent = parent
        # The process run has no end.
        self.bounded = bounded
        self.ttl_ms = ttl_ms
        self.started_s = instance.clock.elapsed_s()
        self._stop = RunStop(instance, run_id, bounded=bounded, ttl_ms=ttl_ms)
        self._story = RunStory(instance, run_id, agent_id, None if parent is None else parent.id)
        self._breaker = RunBreaker(instance.breaker_limits, instance.clock.now_ms, self._breaker_tripped)
        self._tools = RunToolCalls(instance, self._story, self._breaker)
        self._models = RunModelCalls(instance, self._story, self._breaker, model)
        self._life = RunLife(instance, self._story, self._stop, self._tools, self.started_s)
        self._tokens: list[Token[Run | None]] = []

    @property
    def stopped(self) -> Decision | None:
        """The decision that ended the run."""
        return self._stop.decision

    @property
    def model_override(self) -> str | None:
        """Model set by an operator."""
        return self._stop.model_override

    @property
    def ended(self) -> bool:
        return self._life.ended

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> Run:
        """Reports the start to the platform. Idempotent."""
        if self._life.begin(self):
            self._life.heard_start(self._instance.life_call(run_path(self.id, "start"), self._life.start_body(self)))
        return self

    async def astart(self) -> Run:
        if self._life.begin(self):
            body = self._life.start_body(self)
            self._life.heard_start(await self._instance.alife_call(run_path(self.id, "start"), body))
        return self

    def end(
        self, status: RunStatus | RunEnding = "success", *, result: Any = None, error: BaseException | None = None
    ) -> None:
        """Ends the run once. A run that was stopped ends as `interrupted`."""
        body = self._life.finish(self, status, result, error)
        if body is not None:
            self._life.heard_end(self._instance.life_call(run_path(self.id, "end"), body), body)

    async def aend(
        self, status: RunStatus | RunEnding = "success", *, result: Any = None, error: BaseException | None = None
    ) -> None:
        body = self._life.finish(self, status, result, error)
        if body is None:
            return
        outcome: Outcome | None = None
        try:
            outcome = await self._instance.alife_call(run_path(self.id, "end"), body)
        finally:
            self._life.heard_end(outcome, body)

    def __enter__(self) -> Run:
        self.start()
        self._tokens.append(current.set(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        self.end(status_of(error), error=error)

    async def __aenter__(self) -> Run:
        await self.astart()
        self._tokens.append(current.set(self))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        await self.aend(status_of(error), error=error)

    # -- tools -----------------------------------------------------------------------------------------------------

    def before_tool(
        self,
        name: str,
        args: Mapping[str, Any],
        *,
        call_id: str | None = None,
        tags: Sequence[str] = (),
        subjects: Sequence[Subject] = (),
        source: Source = SDK,
    ) -> Decision:
        """Call before a tool runs. `blocked`: do not run it; `terminates`: also end the loop. Use `decision.args`."""
        self.start()
        return self._ask(self._tools.before(name, args, call_id, tags, subjects), source)

    async def abefore_tool(
        self,
        name: str,
        args: Mapping[str, Any],
        *,
        call_id: str | None = None,
        tags: Sequence[str] = (),
        subjects: Sequence[Subject] = (),
        source: Source = SDK,
    ) -> Decision:
        await self.astart()
        return await self._aask(self._tools.before(name, args, call_id, tags, subjects), source)

    def after_tool(
        self,
        name: str,
        args: Mapping[str, Any],
        result: Any = None,
        *,
        call_id: str,
        error: BaseException | None = None,
        duration_ms: float = 0,
        tags: Sequence[str] = (),
        source: Source = SDK,
    ) -> Decision:
        """Call after a tool ran or raised. `blocked`: the result must not be used."""
        question = self._tools.ended(name, args, result, call_id, error, duration_ms, tags, source)
        return self._decided_after(question, self._instance.decider.decide(self, question))

    async def aafter_tool(
        self,
        name: str,
        args: Mapping[str, Any],
        result: Any = None,
        *,
        call_id: str,
        error: BaseException | None = None,
        duration_ms: float = 0,
        tags: Sequence[str] = (),
        source: Source = SDK,
    ) -> Decision:
        question = self._tools.ended(name, args, result, call_id, error, duration_ms, tags, source)
        return self._decided_after(question, await self._instance.decider.adecide(self, question))

    def wait_for_approval(self, name: str, decision: Decision, *, timeout: float, tags: Sequence[str] = ()) -> Decision:
        """Polls a waiting call until a human decides, the run is stopped, or `timeout` seconds have passed."""
        until = self._instance.clock.elapsed_s() + timeout
        while decision.pending and (left := until - self._instance.clock.elapsed_s()) > 0:
            self._tools.waits_here(decision.call_id)
            pause(min(left, self._instance.settings.approval_poll_s))
            decision = self._ask(self._tools.before(name, decision.args, decision.call_id, tags, (), again=True), SDK)
        if decision.pending:
            self._tools.waits_no_longer(name, decision)
        return decision

    async def await_approval(
        self, name: str, decision: Decision, *, timeout: float, tags: Sequence[str] = ()
    ) -> Decision:
        until = self._instance.clock.elapsed_s() + timeout
        while decision.pending and (left := until - self._instance.clock.elapsed_s()) > 0:
            self._tools.waits_here(decision.call_id)
            await apause(min(left, self._instance.settings.approval_poll_s))
            question = self._tools.before(name, decision.args, decision.call_id, tags, (), again=True)
            decision = await self._aask(question, SDK)
        if decision.pending:
            self._tools.waits_no_longer(name, decision)
        return decision

    # -- models ----------------------------------------------------------------------------------------------------

    def before_llm(
        self,
        messages: Sequence[Message],
        *,
        model: str | None = None,
        provider: str | None = None,
        call_id: str | None = None,
        source: Source = SDK,
    ) -> str:
        """Call before a model call. Returns the call's id for `after_llm`; raises RunStopped if it is refused."""
        self.start()
        question = self._models.before(messages, call_id)
        decision = self._instance.decider.decide(self, question)
        return self._model_begins(decision, messages, model, provider, source)

    async def abefore_llm(
        self,
        messages: Sequence[Message],
        *,
        model: str | None = None,
        provider: str | None = None,
        call_id: str | None = None,
        source: Source = SDK,
    ) -> str:
        await self.astart()
        question = self._models.before(messages, call_id)
        decision = await self._instance.decider.adecide(self, question)
        return self._model_begins(decision, messages, model, provider, source)

    def after_llm(
        self,
        call_id: str,
        response: object = None,
        *,
        text: object = None,
        usage: Usage | Mapping[str, Any] | object | None = None,
        model: str | None = None,
        finish_reason: str | None = None,
        cost_usd: float | None = None,
        confidence: float | None = None,
        error: BaseException | None = None,
    ) -> None:
        """
        Call after a model call, also after a failed one. Requests no decision. `response` is the client's unchanged
        response (openai, anthropic); explicit arguments take precedence.
        """
        self._models.ended(
            call_id,
            response=response,
            text=text,
            usage=usage,
            model=model,
            finish_reason=finish_reason,
            cost_usd=cost_usd,
            confidence=confidence,
            error=error,
        )

    # -- facts -----------------------------------------------------------------------------------------------------

    def record(self, type: str, data: Mapping[str, Any], *, severity: Severity = "info", source: Source = SDK) -> None:
        """Adds a custom event to the run."""
        self.start()
        self._story.custom(name_of(type), data, severity=severity, source=source)

    def tell(
        self, event_type: str, payload: Mapping[str, Any], *, severity: Severity = "info", source: Source = SDK
    ) -> None:
        """Adds an event of one of the types of docs/wire-format.md, for adapters."""
        self._story.tell(event_type, payload, severity=severity, source=source)

    def reset_breaker(self) -> None:
        """Closes the breaker of this run, for an operator's reset."""
        self._breaker.reset()

    def tool_ended(
        self,
        name: str,
        args: Mapping[str, Any],
        result: Any = None,
        *,
        call_id: str,
        error: BaseException | None = None,
        duration_ms: float = 0,
        tags: Sequence[str] = (),
        source: Source = SDK,
    ) -> None:
        """`after_tool` without a decision: for a cancelled call, and for streams that were already forwarded."""
        self._tools.ended(name, args, result, call_id, error, duration_ms, tags, source)

    def belongs_to(self, instance: Instance) -> bool:
        return self._instance is instance

    # -- what the guard asks ---------------------------------------------------------------------------------------

    def ordered_state(self) -> OrderedState:
        """State that an operator wants the run to be in."""
        return self._stop.ordered_state()

    def breaker_refuses(self, question: Question) -> str | None:
        if question.phase == "tool.after":
            return None
        iterations = 1 if question.phase == "llm.before" else None
        return self._breaker.refuses(CallUsage(iterations=iterations, by=question.call_id))

    def stop(self, decision: Decision) -> None:
        """Stops the run; the first reason is kept."""
        self._stop.stop(decision)

    def heard_heartbeat(self, outcome: Outcome) -> None:
        """The platform's answer to a heartbeat."""
        self._stop.heard_refusal(outcome)
        if isinstance(outcome, Answered) and outcome.ok and not self.ended:
            self._stop.heard_lockdown(outcome.body)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _leave(self) -> None:
        token = self._tokens.pop()
        try:
            current.reset(token)
        except ValueError:
            # Left in another context than it was entered in (an async generator that was closed elsewhere).
            current.set(None)

    def _ask(self, question: Question, source: Source) -> Decision:
        decision = self._instance.decider.decide(self, question)
        if (renewed := self._tools.renewed(question, decision)) is not None:
            question, decision = renewed, self._instance.decider.decide(self, renewed)
        return self._decided_before(question, decision, source)

    async def _aask(self, question: Question, source: Source) -> Decision:
        decision = await self._instance.decider.adecide(self, question)
        if (renewed := self._tools.renewed(question, decision)) is not None:
            question, decision = renewed, await self._instance.decider.adecide(self, renewed)
        return self._decided_before(question, decision, source)

    def _decided_before(self, question: Question, decision: Decision, source: Source) -> Decision:
        self._tools.decided(question, decision, source)
        return self._stop.noted(decision)

    def _decided_after(self, question: Question, decision: Decision) -> Decision:
        self._story.bypassed(question.tool or "", decision)
        return self._stop.noted(decision)

    def _model_begins(
        self, decision: Decision, messages: Sequence[Message], model: str | None, provider: str | None, source: Source
    ) -> str:
        if decision.blocked:
            raise self._models.refused(self._stop.noted(decision), source)
        return self._models.begin(decision, messages, model, provider, source)

    def _breaker_tripped(self, reason: BreakerReason) -> None:
        self._story.tell(
            "custom", {"type": "breaker.tripped", "data": {"reason": reason, "scope": "run"}}, severity="warn"
        )
