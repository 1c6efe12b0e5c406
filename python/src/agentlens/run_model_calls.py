"""The model calls of one run: what is asked about each, and what is told of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentlens.decision import Decision
from agentlens.errors import RunStopped
from agentlens.events import Source, error_text
from agentlens.guard.decider import Question
from agentlens.guard.run_breaker import RunBreaker
from agentlens.model_calls import Message, Usage, wire_message
from agentlens.run_story import SDK, RunStory

if TYPE_CHECKING:
    from agentlens.instance import Instance


@dataclass
class _Begun:
    model: str
    started_s: float
    source: Source


class RunModelCalls:
    """Asks nobody itself: the run does, with or without `await`."""

    def __init__(self, instance: Instance, story: RunStory, breaker: RunBreaker, model: str | None) -> None:
        self._instance = instance
        self._story = story
        self._breaker = breaker
        self._model = model
        self._begun: dict[str, _Begun] = {}

    def before(self, messages: Sequence[Message], call_id: str | None) -> Question:
        metrics = {"messages": len(messages)}
        return Question("llm.before", call_id or self._instance.new_id(), {}, args={}, metrics=metrics)

    def refused(self, decision: Decision, source: Source) -> RunStopped:
        self._story.decided("", decision, source)
        return RunStopped(decision)

    def begin(
        self, decision: Decision, messages: Sequence[Message], model: str | None, provider: str | None, source: Source
    ) -> str:
        name = model or self._model or "unknown"
        self._begun[decision.call_id] = _Begun(name, self._instance.clock.elapsed_s(), source)
        payload = {
            "callId": decision.call_id,
            "model": name,
            "messages": [wire_message(message) for message in messages],
        }
        self._story.tell("llm_call", {**payload, **({} if provider is None else {"provider": provider})}, source=source)
        return decision.call_id

    def ended(
        self,
        call_id: str,
        *,
        text: str | None,
        usage: Usage,
        model: str | None,
        finish_reason: str | None,
        cost_usd: float | None,
        confidence: float | None,
        error: BaseException | None,
    ) -> None:
        now_s = self._instance.clock.elapsed_s()
        call = self._begun.pop(call_id, None) or _Begun("unknown", now_s, SDK)
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
            "latencyMs": max(0.0, (now_s - call.started_s) * 1000),
            "usage": usage.wire(),
        }
        optional = {
            "costUsd": cost_usd,
            "confidence": confidence,
            "error": None if error is None else error_text(error),
        }
        payload.update({key: value for key, value in optional.items() if value is not None})
        self._story.tell("llm_response", payload, severity="info" if error is None else "error", source=call.source)
