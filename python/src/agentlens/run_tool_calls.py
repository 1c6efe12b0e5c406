"""The tool calls of one run: their decision requests and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentlens.call_ids import CallIds
from agentlens.decision import Decision, Subject
from agentlens.events import Source, error_text, name_of
from agentlens.guard.decider import MAX_ARGUMENT_CHARS, Question
from agentlens.guard.run_breaker import RunBreaker
from agentlens.jsonable import plain, write
from agentlens.run_story import RunStory

if TYPE_CHECKING:
    from agentlens.instance import Instance


class RunToolCalls:
    """Makes no calls itself; the run does, with or without `await`."""

    def __init__(self, instance: Instance, story: RunStory, breaker: RunBreaker) -> None:
        self._instance = instance
        self._story = story
        self._breaker = breaker
        self._call_ids = CallIds()
        self.ended_count = 0

    def before(
        self,
        name: str,
        args: Mapping[str, Any],
        call_id: str | None,
        tags: Sequence[str],
        subjects: Sequence[Subject],
        *,
        again: bool = False,
    ) -> Question:
        """`again`: this call already waits for a person under its id."""
        if self._instance.settings.enforce == "off":
            return Question("tool.before", call_id or self._instance.new_id(), args, tool=name_of(name))
        sent = plain(args)
        text = write(sent)
        if not again:
            call_id = self._call_ids.of(name_of(name), text, call_id)
        call_id = call_id or self._instance.new_id()
        return Question(
            "tool.before",
            call_id,
            args,
            args=sent,
            tool=name_of(name),
            tags=tags,
            subjects=subjects,
            metrics={"bytes_in": len(text.encode("utf-8", "replace"))},
            oversized=len(text) > MAX_ARGUMENT_CHARS,
        )

    def renewed(self, question: Question, decision: Decision) -> Question | None:
        """The question to ask instead, if another call has used the approval of this one."""
        if decision.blocked or self._call_ids.use_approval(question.call_id):
            return None
        return replace(question, call_id=self._instance.new_id())

    def waits_here(self, call_id: str) -> None:
        self._call_ids.unpark(call_id)

    def waits_no_longer(self, name: str, decision: Decision) -> None:
        self._call_ids.park(name_of(name), write(plain(decision.args)), decision.call_id)

    def decided(self, question: Question, decision: Decision, source: Source) -> None:
        name = question.tool or "unknown"
        if decision.pending and self._instance.settings.enforce != "off":
            self._call_ids.park(name, write(question.args), question.call_id)
        if not decision.blocked:
            self._story.tell(
                "tool_call",
                {"toolName": name, "callId": question.call_id, "arguments": dict(decision.args)},
                source=source,
            )
        self._story.decided(name, decision, source)

    def ended(
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
        """Reports the end of the call and returns the question about its result."""
        name, duration_ms = name_of(name), max(0.0, duration_ms)
        self.ended_count += 1
        self._call_ids.executed(call_id)
        self._breaker.tool_ended(call_id, error is not None)
        payload: dict[str, Any] = {"toolName": name, "callId": call_id, "durationMs": duration_ms}
        if error is None:
            self._story.tell("tool_response", {**payload, "result": result}, source=source)
        else:
            self._story.tell("tool_error", {**payload, "error": error_text(error)}, severity="error", source=source)
        if self._instance.settings.enforce == "off":
            return Question("tool.after", call_id, args, tool=name)
        sent, returned = plain(args), plain(result if error is None else {"error": error_text(error)})
        text, returned_text = write(sent), write(returned)
        fits = len(returned_text) <= MAX_ARGUMENT_CHARS
        return Question(
            "tool.after",
            call_id,
            args,
            args=sent,
            tool=name,
            tags=tags,
            metrics={"bytes_in": len(text), "bytes_out": len(returned_text), "duration_ms": duration_ms},
            result=returned if fits else {"truncated": True, "chars": len(returned_text)},
            oversized=len(text) > MAX_ARGUMENT_CHARS,
        )
