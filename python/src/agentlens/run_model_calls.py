"""The model calls of one run: their decision requests and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentlens.decision import Decision
from agentlens.errors import RunStopped
from agentlens.events import Source, error_text
from agentlens.guard.decider import Question
from agentlens.guard.run_breaker import RunBreaker
from agentlens.model_calls import Message, wire_message
from agentlens.model_responses import UnreadPart, messages_of, read_response
from agentlens.run_story import SDK, RunStory

if TYPE_CHECKING:
    from agentlens.instance import Instance


_UNREAD: Mapping[UnreadPart, str] = {
    "response": "after_llm could not read the response, so it is not recorded (docs/sdk/python.md)",
    "usage": "after_llm could not read the usage of a response, so its tokens are not counted (docs/sdk/python.md)",
}


@dataclass
class _Begun:
    model: str
    started_s: float
    source: Source


class RunModelCalls:
    """Makes no calls itself; the run does, with or without `await`."""

    def __init__(self, instance: Instance, story: RunStory, breaker: RunBreaker, model: str | None) -> None:
        self._instance = instance
        self._story = story
        self._breaker = breaker
        self._model = model
        self._begun: dict[str, _Begun] = {}

    def before(self, messages: Sequence[Message], call_id: str | None) -> Question:
        metrics = {"messages": len(self._list_of(messages))}
        return Question("llm.before", call_id or self._instance.new_id(), {}, args={}, metrics=metrics)

    def _list_of(self, messages: object) -> list[Message]:
        found = messages_of(messages)
        if found is None:
            self._instance.warn_once("before_llm got no list of messages, so none is recorded (docs/sdk/python.md)")
        return found or []

    def refused(self, decision: Decision, source: Source) -> RunStopped:
        self._story.decided("", decision, source)
        return RunStopped(decision)

    def begin(
        self, decision: Decision, messages: Sequence[Message], model: str | None, provider: str | None, source: Source
    ) -> str:
        self._story.bypassed("", decision)
        name = model or self._model or "unknown"
        self._begun[decision.call_id] = _Begun(name, self._instance.clock.elapsed_s(), source)
        payload = {
            "callId": decision.call_id,
            "model": name,
            "messages": [wire_message(message) for message in self._list_of(messages)],
        }
        self._story.tell("llm_call", {**payload, **({} if provider is None else {"provider": provider})}, source=source)
        return decision.call_id

    def ended(
        self,
        call_id: str,
        *,
        response: object,
        text: object,
        usage: object,
        model: str | None,
        finish_reason: str | None,
        cost_usd: float | None,
        confidence: float | None,
        error: BaseException | None,
    ) -> None:
        now_s = self._instance.clock.elapsed_s()
        call = self._begun.pop(call_id, None) or _Begun("unknown", now_s, SDK)
        answer = read_response(response, text=text, usage=usage, model=model, finish_reason=finish_reason)
        for part in answer.unread:
            self._instance.warn_once(_UNREAD[part])
        self._breaker.model_answered(
            call_id,
            failed=error is not None,
            input_tokens=answer.usage.input_tokens,
            output_tokens=answer.usage.output_tokens,
            cost_usd=cost_usd or 0,
            confidence=confidence,
        )
        payload: dict[str, Any] = {
            "callId": call_id,
            "model": answer.model or call.model,
            "completion": answer.text,
            "finishReason": "error" if error is not None else (answer.finish_reason or "unknown"),
            "latencyMs": max(0.0, (now_s - call.started_s) * 1000),
            "usage": answer.usage.wire(),
        }
        optional = {
            "costUsd": cost_usd,
            "confidence": confidence,
            "error": None if error is None else error_text(error),
        }
        payload.update({key: value for key, value in optional.items() if value is not None})
        self._story.tell("llm_response", payload, severity="info" if error is None else "error", source=call.source)
