"""The events of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentlens.decision import BYPASSES, Decision
from agentlens.events import Event, Severity, Source

if TYPE_CHECKING:
    from agentlens.instance import Instance

SDK = Source("agentlens")


class RunStory:
    """Adds the events of a run to the sink."""

    def __init__(self, instance: Instance, run_id: str, agent_id: str, parent_id: str | None) -> None:
        self._instance = instance
        self._run_id = run_id
        self._agent_id = agent_id
        self._parent = {} if parent_id is None else {"parentRunId": parent_id}

    def tell(
        self, event_type: str, payload: Mapping[str, Any], *, severity: Severity = "info", source: Source = SDK
    ) -> None:
        instance = self._instance
        if source is SDK:
            source = replace(source, version=instance.version)
        instance.sink.put(
            Event(
                instance.new_id(),
                event_type,
                self._run_id,
                self._agent_id,
                instance.clock.now_ms(),
                payload,
                severity,
                {**source.metadata(), **self._parent},
            )
        )

    def custom(self, kind: str, data: Mapping[str, Any], *, severity: Severity = "info", source: Source = SDK) -> None:
        self.tell("custom", {"type": kind, "data": data}, severity=severity, source=source)

    def bypassed(self, tool: str, decision: Decision) -> None:
        """For a call decided by the fail mode. The platform's own bypasses have this name too."""
        if decision.bypass is None:
            return
        would = decision.shadowed or decision
        told = {
            "phase": decision.phase,
            "callId": decision.call_id,
            "why": decision.bypass,
            "cause": BYPASSES[decision.bypass][0],
            "verdict": decision.verdict,
            "message": would.message,
            "did": "block" if decision.blocked else "allow",
        }
        self.custom("decision.bypassed", {**told, **({"tool": tool} if tool else {})}, severity="warn")

    def decided(self, tool: str, decision: Decision, source: Source) -> None:
        """The platform stores its own decisions; all others are reported here."""
        data: dict[str, Any] = {"tool": tool, "callId": decision.call_id, "phase": decision.phase}
        self.bypassed(tool, decision)
        if decision.blocked and decision.source != "remote":
            what = "model_blocked" if decision.phase == "llm.before" else "tool_blocked"
            told = {**data, "message": decision.message, "cause": decision.cause.kind}
            self.custom(what, told, source=source)
        if decision.shadowed is not None:
            would = decision.shadowed.model_dump(mode="json", exclude_none=True)
            self.custom("decision_shadowed", {**data, "would": would}, source=source)
