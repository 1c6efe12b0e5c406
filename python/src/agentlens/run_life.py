"""Reports the start and the end of one run to the platform."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from agentlens.errors import kind_of, stopped_by
from agentlens.events import error_text
from agentlens.forks import ForkLock
from agentlens.jsonable import clip, to_json
from agentlens.platform import Answered, Outcome
from agentlens.run_stop import RunStop
from agentlens.run_story import RunStory
from agentlens.run_tool_calls import RunToolCalls

if TYPE_CHECKING:
    from agentlens.instance import Instance
    from agentlens.run import Run

RunStatus = Literal["success", "error", "timeout", "interrupted", "cancelled"]
# Synonyms used by frameworks and by the platform.
RunEnding = Literal["completed", "succeeded", "ok", "failed", "timed_out", "canceled", "aborted", "stopped"]
_ENDINGS: Mapping[str, RunStatus] = {
    "completed": "success",
    "succeeded": "success",
    "ok": "success",
    "failed": "error",
    "timed_out": "timeout",
    "canceled": "cancelled",
    "aborted": "interrupted",
    "stopped": "interrupted",
}
_REASONS: Mapping[str, str] = {"success": "completed", "error": "error", "timeout": "timeout"}
_MAX_CHARS = 4_000


class RunLife:
    """Makes no calls itself; the run does, with or without `await`. What a call could not report goes into the sink."""

    def __init__(
        self, instance: Instance, story: RunStory, stop: RunStop, tools: RunToolCalls, started_s: float
    ) -> None:
        self._instance = instance
        self._story = story
        self._stop = stop
        self._tools = tools
        self._started_s = started_s
        self._lock = ForkLock()
        self._started = False
        self._start_event: dict[str, Any] = {}
        self.ended = False

    def begin(self, run: Run) -> bool:
        """True the first time."""
        with self._lock:
            if self._started:
                return False
            self._started = True
        self._instance.run_began(run)
        return True

    def start_body(self, run: Run) -> dict[str, Any]:
        self._start_event = {"agentName": run.agent_id, "tags": [f"{key}:{value}" for key, value in run.tags.items()]}
        heartbeat = self._instance.settings.heartbeat_ms
        found: dict[str, Any] = {
            "agentId": run.agent_id,
            "sessionId": run.session_id,
            "tags": dict(run.tags),
            "runTtlMs": run.ttl_ms,
            "heartbeatEveryMs": heartbeat if heartbeat > 0 and run.bounded else None,
            "parentRunId": None if run.parent is None else run.parent.id,
            "model": None if run.model is None else {"name": run.model},
            "actor": None if run.actor is None else run.actor.model_dump(by_alias=True, exclude_none=True),
        }
        return {key: value for key, value in found.items() if value is not None}

    def heard_start(self, outcome: Outcome | None) -> None:
        if isinstance(outcome, Answered) and outcome.ok:
            self._stop.heard_lockdown(outcome.body)
            return
        self._stop.heard_refusal(outcome)
        # The event waits in the sink until the platform is back. If the call did arrive, ingest merges the two.
        self._story.tell("session_started", self._start_event)

    def finish(
        self, run: Run, ending: RunStatus | RunEnding, result: Any, error: BaseException | None
    ) -> dict[str, Any] | None:
        """Payload of the call that ends the run; None if it has ended or never began."""
        with self._lock:
            if self.ended:
                return None
            self.ended = True
            if not self._started:
                return None
        status = "interrupted" if self._stop.decision is not None else self._status_of(ending)
        self._instance.run_ended(run)
        body: dict[str, Any] = {"agentId": run.agent_id, "status": status, "totalSteps": self._tools.ended_count}
        if error is not None:
            body["error"] = clip(error_text(error), _MAX_CHARS)
        if result is not None:
            body["result"] = clip(result if isinstance(result, str) else to_json(result), _MAX_CHARS)
        return body

    def _status_of(self, ending: str) -> RunStatus:
        """An unknown status must not count as success."""
        if ending in get_args(RunStatus):
            return cast(RunStatus, ending)
        status = _ENDINGS.get(ending)
        if status is None:
            known = ", ".join(get_args(RunStatus))
            self._instance.warn_once(f"run.end got an unknown status, so the run ends as `error`; allowed are {known}")
        return status or "error"

    def heard_end(self, outcome: Outcome | None, body: Mapping[str, Any]) -> None:
        if isinstance(outcome, Answered) and outcome.ok:
            return
        payload = {
            "reason": _REASONS.get(body["status"], "manual"),
            "totalToolCalls": body["totalSteps"],
            "totalDurationMs": max(0.0, (self._instance.clock.elapsed_s() - self._started_s) * 1000),
        }
        self._story.tell("session_ended", {**payload, **({"summary": body["error"]} if "error" in body else {})})


def status_of(error: BaseException | None) -> RunStatus:
    if error is None or isinstance(error, GeneratorExit):
        return "success"
    if stopped_by(error) is not None or isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if kind_of(error) in ("CancelledError", "Cancelled"):
        return "cancelled"
    return "error"
