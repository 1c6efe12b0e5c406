"""One execution of an agent: a request, a turn of a conversation, a job."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextvars import Token
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from agentlens.call_ids import CallIds
from agentlens.context import current
from agentlens.decision import Actor, Decision, Subject
from agentlens.errors import RunStopped, stopped_by
from agentlens.events import Severity, Source, error_text, name_of
from agentlens.forks import ForkLock
from agentlens.guard.breaker import BreakerReason, CallUsage
from agentlens.guard.decider import MOST_ARGUMENT_CHARS, Question, key_refused
from agentlens.guard.run_breaker import RunBreaker
from agentlens.guard.standing import RUNNING, Standing
from agentlens.jsonable import clip, plain, to_json, write
from agentlens.model_calls import Message, Usage, wire_message
from agentlens.platform import Answered, Outcome, run_path
from agentlens.run_story import SDK, RunStory
from agentlens.waiting import apause, pause

if TYPE_CHECKING:
    from agentlens.instance import Instance

logger = logging.getLogger("agentlens")
RunStatus = Literal["success", "error", "timeout", "interrupted", "cancelled"]
_REASONS: Mapping[str, str] = {"success": "completed", "error": "error", "timeout": "timeout"}


@dataclass
class _ModelCall:
    model: str
    started_s: float
    source: Source


class Run:
    """
    Made by `agentlens.run()`; use it in `with` or `async with`. No method raises because the platform is away, and none
    waits longer than the deadline. Those that ask have an async twin.
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
        self.stopped: Decision | None = None
        self.model_override: str | None = None
        # The run of the process has no end of its own: a decision to terminate ends no more than its call.
        self.bounded = bounded
        self.ended = False
        self.started_s = instance.clock.elapsed_s()
        self._ttl_ms = ttl_ms
        self._lock = ForkLock()
        self._started = False
        self._lockdown = RUNNING
        self._tool_calls = 0
        self._call_ids = CallIds()
        self._story = RunStory(instance, run_id, agent_id, None if parent is None else parent.id)
        self._model_calls: dict[str, _ModelCall] = {}
        self._tokens: list[Token[Run | None]] = []
        self._breaker = RunBreaker(instance.breaker_limits, instance.clock.now_ms, self._breaker_tripped)

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> Run:
        """Tells the platform; a second time it does nothing."""
        if self._begin():
            self._heard_start(self._instance.life_call(run_path(self.id, "start"), self._start_body()))
        return self

    async def astart(self) -> Run:
        if self._begin():
            self._heard_start(await self._instance.alife_call(run_path(self.id, "start"), self._start_body()))
        return self

    def end(self, status: RunStatus = "success", *, result: Any = None, error: BaseException | None = None) -> None:
        """Ends once, however often it is called. A run that was stopped ends as `interrupted`."""
        body = self._finish(status, result, error)
        if body is not None:
            self._heard_end(self._instance.life_call(run_path(self.id, "end"), body), body)

    async def aend(
        self, status: RunStatus = "success", *, result: Any = None, error: BaseException | None = None
    ) -> None:
        body = self._finish(status, result, error)
        if body is None:
            return
        outcome: Outcome | None = None
        try:
            outcome = await self._instance.alife_call(run_path(self.id, "end"), body)
        finally:
            self._heard_end(outcome, body)

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
        """Before a tool runs. `blocked`: do not run it; with `terminates` end the loop too. Use `decision.args`."""
        self.start()
        question = self._tool_question(name, args, call_id, tags, subjects)
        return self._decided_before(question, self._instance.decider.decide(self, question), source)

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
        question = self._tool_question(name, args, call_id, tags, subjects)
        return self._decided_before(question, await self._instance.decider.adecide(self, question), source)

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
        """After a tool ran or raised. `blocked` means that the result must not be used."""
        question = self._tool_ended(name, args, result, call_id, error, duration_ms, tags, source)
        return self._noted(self._instance.decider.decide(self, question))

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
        question = self._tool_ended(name, args, result, call_id, error, duration_ms, tags, source)
        return self._noted(await self._instance.decider.adecide(self, question))

    def wait_for_approval(self, name: str, decision: Decision, *, timeout: float, tags: Sequence[str] = ()) -> Decision:
        """Asks about a waiting call until a human has decided, the run is stopped, or `timeout` seconds are over."""
        until = self._instance.clock.elapsed_s() + timeout
        while decision.pending and (left := until - self._instance.clock.elapsed_s()) > 0:
            pause(min(left, self._instance.settings.approval_poll_s))
            decision = self.before_tool(name, decision.args, call_id=decision.call_id, tags=tags)
        return decision

    async def await_approval(
        self, name: str, decision: Decision, *, timeout: float, tags: Sequence[str] = ()
    ) -> Decision:
        until = self._instance.clock.elapsed_s() + timeout
        while decision.pending and (left := until - self._instance.clock.elapsed_s()) > 0:
            await apause(min(left, self._instance.settings.approval_poll_s))
            decision = await self.abefore_tool(name, decision.args, call_id=decision.call_id, tags=tags)
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
        """Before a model call. Answers the call's id for `after_llm`; raises RunStopped where it must not happen."""
        self.start()
        question = self._model_question(messages, call_id)
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
        question = self._model_question(messages, call_id)
        decision = await self._instance.decider.adecide(self, question)
        return self._model_begins(decision, messages, model, provider, source)

    def after_llm(
        self,
        call_id: str,
        *,
        text: str | None = None,
        usage: Usage | None = None,
        model: str | None = None,
        finish_reason: str | None = None,
        cost_usd: float | None = None,
        confidence: float | None = None,
        error: BaseException | None = None,
    ) -> None:
        """After a model call, also when it failed. Asks nobody."""
        call = self._model_calls.pop(call_id, None) or _ModelCall("unknown", self._instance.clock.elapsed_s(), SDK)
        usage = usage or Usage()
        self._breaker.model_answered(
            call_id,
            failed=error is not None,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=cost_usd or 0,
            confidence=confidence,
        )
        payload: dict[str, Any] = {
            "callId": call_id,
            "model": model or call.model,
            "completion": text,
            "finishReason": "error" if error is not None else (finish_reason or "unknown"),
            "latencyMs": self._since_ms(call.started_s),
            "usage": usage.wire(),
        }
        optional = {
            "costUsd": cost_usd,
            "confidence": confidence,
            "error": None if error is None else error_text(error),
        }
        payload.update({key: value for key, value in optional.items() if value is not None})
        self._story.tell("llm_response", payload, severity="info" if error is None else "error", source=call.source)

    # -- facts -----------------------------------------------------------------------------------------------------

    def record(self, type: str, data: Mapping[str, Any], *, severity: Severity = "info", source: Source = SDK) -> None:
        """Adds a fact of the agent's own to the story of the run."""
        self.start()
        self._story.custom(name_of(type), data, severity=severity, source=source)

    def tell(
        self, event_type: str, payload: Mapping[str, Any], *, severity: Severity = "info", source: Source = SDK
    ) -> None:
        """An event of one of the types of docs/wire-format.md, for adapters."""
        self._story.tell(event_type, payload, severity=severity, source=source)

    def reset_breaker(self) -> None:
        """Closes the breaker of this run; for an operator's reset."""
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
        """`after_tool` without a question: for a call that was cancelled, and for streams that were handed on."""
        self._tool_ended(name, args, result, call_id, error, duration_ms, tags, source)

    def belongs_to(self, instance: Instance) -> bool:
        return self._instance is instance

    # -- what the guard asks ---------------------------------------------------------------------------------------

    def standing(self) -> Standing:
        """Killed before paused, whoever said it."""
        ordered = self._instance.standings.of(self.id)
        if self._ttl_ms is not None and self._since_ms(self.started_s) > self._ttl_ms:
            return Standing("killed", "", "its time is over")
        return self._lockdown if self._lockdown.state == "killed" or ordered.state == "running" else ordered

    def breaker_refuses(self, question: Question) -> str | None:
        if question.phase == "tool.after":
            return None
        iterations = 1 if question.phase == "llm.before" else None
        return self._breaker.refuses(CallUsage(iterations=iterations, by=question.call_id))

    def stop(self, decision: Decision) -> None:
        """Nothing more of this run is allowed; the first reason stays."""
        if self.stopped is None and (self.bounded or decision.bypass == "key_refused"):
            self.stopped = decision

    def heard_refusal(self, outcome: Outcome | None) -> None:
        """A key that is refused is no outage: it ends the run, whichever call hears of it."""
        if isinstance(outcome, Answered) and outcome.key_refused and self._instance.settings.enforce == "enforce":
            self.stop(key_refused(Question("llm.before", self._instance.new_id(), {}), outcome.status))

    def lock_down(self, answer: object) -> None:
        """What the platform says at the start of a run, and with each sign of life."""
        lockdown = answer.get("lockdown") if isinstance(answer, Mapping) else None
        if not isinstance(lockdown, Mapping):
            return
        override = answer.get("modelOverride") if isinstance(answer, Mapping) else None
        self.model_override = override if isinstance(override, str) else None
        if lockdown.get("active") is not True:
            self._lockdown = RUNNING
            return
        reason, lockdown_id = lockdown.get("reason"), lockdown.get("lockdownId")
        self._lockdown = Standing(
            "paused" if lockdown.get("kind") == "paused" else "killed",
            lockdown_id if isinstance(lockdown_id, str) else "",
            reason if isinstance(reason, str) else "",
        )

    # -- inside ----------------------------------------------------------------------------------------------------

    def _begin(self) -> bool:
        with self._lock:
            if self._started:
                return False
            self._started = True
        self._instance.run_began(self)
        return True

    def _start_body(self) -> dict[str, Any]:
        heartbeat = self._instance.settings.heartbeat_ms
        found: dict[str, Any] = {
            "agentId": self.agent_id,
            "sessionId": self.session_id,
            "tags": dict(self.tags),
            "runTtlMs": self._ttl_ms,
            "heartbeatEveryMs": heartbeat if heartbeat > 0 and self.bounded else None,
            "parentRunId": None if self.parent is None else self.parent.id,
            "model": None if self.model is None else {"name": self.model},
            "actor": None if self.actor is None else self.actor.model_dump(by_alias=True, exclude_none=True),
        }
        return {key: value for key, value in found.items() if value is not None}

    def _heard_start(self, outcome: Outcome | None) -> None:
        if isinstance(outcome, Answered) and outcome.ok:
            self.lock_down(outcome.body)
            return
        self.heard_refusal(outcome)
        # The start was not told by the call: the event waits in the sink until the platform is back.
        self._story.tell(
            "session_started", {"agentName": self.agent_id, "tags": [f"{k}:{v}" for k, v in self.tags.items()]}
        )

    def _finish(self, status: RunStatus, result: Any, error: BaseException | None) -> dict[str, Any] | None:
        with self._lock:
            if self.ended:
                return None
            self.ended = True
            if not self._started:
                return None
        if self.stopped is not None:
            status = "interrupted"
        self._instance.run_ended(self)
        body: dict[str, Any] = {"agentId": self.agent_id, "status": status, "totalSteps": self._tool_calls}
        if error is not None:
            body["error"] = clip(error_text(error), 4_000)
        if result is not None:
            body["result"] = clip(result if isinstance(result, str) else to_json(result), 4_000)
        return body

    def _heard_end(self, outcome: Outcome | None, body: Mapping[str, Any]) -> None:
        if isinstance(outcome, Answered) and outcome.ok:
            return
        payload = {
            "reason": _REASONS.get(body["status"], "manual"),
            "totalToolCalls": body["totalSteps"],
            "totalDurationMs": self._since_ms(self.started_s),
        }
        self._story.tell("session_ended", {**payload, **({"summary": body["error"]} if "error" in body else {})})

    def _leave(self) -> None:
        token = self._tokens.pop()
        try:
            current.reset(token)
        except ValueError:
            # Left in another context than it was entered in (an async generator that was closed elsewhere).
            current.set(None)

    def _tool_question(
        self, name: str, args: Mapping[str, Any], call_id: str | None, tags: Sequence[str], subjects: Sequence[Subject]
    ) -> Question:
        if self._instance.settings.enforce == "off":
            return Question("tool.before", call_id or self._instance.new_id(), args, tool=name_of(name))
        sent = plain(args)
        text = write(sent)
        call_id = self._call_ids.of(name_of(name), text, call_id) or self._instance.new_id()
        return Question(
            "tool.before",
            call_id,
            args,
            args=sent,
            tool=name_of(name),
            tags=tags,
            subjects=subjects,
            metrics={"bytes_in": len(text.encode("utf-8", "replace"))},
            oversized=len(text) > MOST_ARGUMENT_CHARS,
        )

    def _decided_before(self, question: Question, decision: Decision, source: Source) -> Decision:
        name = question.tool or "unknown"
        if self._instance.settings.enforce != "off":
            self._call_ids.decided(name, write(question.args), question.call_id, waits=decision.pending)
        if not decision.blocked:
            self._story.tell(
                "tool_call",
                {"toolName": name, "callId": question.call_id, "arguments": dict(decision.args)},
                source=source,
            )
        self._story.decided(name, decision, source)
        return decision if decision.pending else self._noted(decision)

    def _tool_ended(
        self,
        name: str,
        args: Mapping[str, Any],
        result: Any,
        call_id: str,
        error: BaseException | None,
        duration_ms: float,
        tags: Sequence[str],
        source: Source,
    ) -> Question:
        name = name_of(name)
        self._tool_calls += 1
        self._call_ids.executed(call_id)
        self._breaker.tool_ended(call_id, error is not None)
        ended: dict[str, Any] = {"toolName": name, "callId": call_id, "durationMs": max(0.0, duration_ms)}
        if error is None:
            self._story.tell("tool_response", {**ended, "result": result}, source=source)
        else:
            self._story.tell("tool_error", {**ended, "error": error_text(error)}, severity="error", source=source)
        if self._instance.settings.enforce == "off":
            return Question("tool.after", call_id, args, tool=name)
        sent, told = plain(args), plain(result if error is None else {"error": error_text(error)})
        text, told_text = write(sent), write(told)
        oversized = len(text) > MOST_ARGUMENT_CHARS
        return Question(
            "tool.after",
            call_id,
            args,
            args=sent,
            tool=name,
            tags=tags,
            metrics={"bytes_in": len(text), "bytes_out": len(told_text), "duration_ms": max(0.0, duration_ms)},
            result=told if len(told_text) <= MOST_ARGUMENT_CHARS else {"truncated": True, "chars": len(told_text)},
            oversized=oversized,
        )

    def _model_question(self, messages: Sequence[Message], call_id: str | None) -> Question:
        metrics = {"messages": len(messages)}
        return Question("llm.before", call_id or self._instance.new_id(), {}, args={}, metrics=metrics)

    def _model_begins(
        self, decision: Decision, messages: Sequence[Message], model: str | None, provider: str | None, source: Source
    ) -> str:
        if decision.blocked:
            self._noted(decision)
            self._story.decided("", decision, source)
            raise RunStopped(decision)
        name = model or self.model or "unknown"
        self._model_calls[decision.call_id] = _ModelCall(name, self._instance.clock.elapsed_s(), source)
        payload = {
            "callId": decision.call_id,
            "model": name,
            "messages": [wire_message(message) for message in messages],
        }
        self._story.tell("llm_call", {**payload, **({} if provider is None else {"provider": provider})}, source=source)
        return decision.call_id

    def _noted(self, decision: Decision) -> Decision:
        paused = self.standing().state == "paused"
        if decision.terminates and not paused:
            self.stop(decision)
        return decision

    def _breaker_tripped(self, reason: BreakerReason) -> None:
        self._story.tell(
            "custom", {"type": "breaker.tripped", "data": {"reason": reason, "scope": "run"}}, severity="warn"
        )

    def _since_ms(self, started_s: float) -> float:
        return max(0.0, (self._instance.clock.elapsed_s() - started_s) * 1000)


def status_of(error: BaseException | None) -> RunStatus:
    if error is None or isinstance(error, GeneratorExit):
        return "success"
    if stopped_by(error) is not None or isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if type(error).__name__ in ("CancelledError", "Cancelled"):
        return "cancelled"
    return "error"
