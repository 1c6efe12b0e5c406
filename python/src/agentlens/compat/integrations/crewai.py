"""The original's CrewAI handler; it observes. `instrument_crewai` actually instruments."""

from __future__ import annotations

from typing import Any, ClassVar

from agentlens.compat.integrations.calls import OpenCalls, name_of, told
from agentlens.events import Severity
from agentlens.integrations.base import BaseFrameworkPlugin
from agentlens.integrations.crewai import instrument_crewai, uninstrument_crewai

__all__ = ["AgentLensCrewAIHandler", "instrument_crewai", "uninstrument_crewai"]


class AgentLensCrewAIHandler(BaseFrameworkPlugin):
    """Call its `on_*` methods, or pass `step_callback` to the crew. None of them raises."""

    framework_name: ClassVar[str] = "crewai"
    distribution: ClassVar[str | None] = "crewai"

    def __init__(self, crew_name: str = "default-crew", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._crew_name = crew_name
        self._calls = OpenCalls()

    def on_crew_start(self, crew: Any) -> None:
        agents = [_role(agent) for agent in getattr(crew, "agents", None) or ()]
        self._send("session_started", {"agentName": self._crew_name, "tags": agents})

    def on_crew_end(self, crew: Any, result: Any) -> None:
        self._send("session_ended", {"reason": "completed", "summary": told(result)})

    def on_agent_start(self, agent: Any) -> None:
        self._tell("agent_start", {"role": _role(agent), "goal": told(getattr(agent, "goal", None))}, agent)

    def on_agent_end(self, agent: Any, output: Any = None) -> None:
        self._tell("agent_end", {"role": _role(agent), "output": told(output)}, agent)

    def on_task_start(self, task: Any, agent: Any) -> None:
        self._tell("task_start", {"description": _description(task), "agent": _role(agent)}, agent)

    def on_task_end(self, task: Any, agent: Any, output: Any) -> None:
        data = {"description": _description(task), "agent": _role(agent), "output": told(output)}
        self._tell("task_end", data, agent)

    def on_task_delegation(self, delegator: Any, delegatee: Any, task: Any, reason: str = "") -> None:
        data = {"from": _role(delegator), "to": _role(delegatee), "description": _description(task), "reason": reason}
        self._tell("task_delegation", data, delegator)

    def on_tool_use(self, agent: Any, tool_name: str, tool_input: Any) -> str:
        call_id = self._calls.begin()
        arguments = tool_input if isinstance(tool_input, dict) else {"input": tool_input}
        self._send_tool_call(tool_name, call_id, arguments)
        return call_id

    def on_tool_result(self, agent: Any, tool_name: str, result: Any, call_id: str = "") -> None:
        self._send_tool_response(tool_name, call_id or "unknown", result, self._calls.end_ms(call_id))

    def step_callback(self, step_output: Any) -> None:
        data = {"type": type(step_output).__name__, "output": told(step_output)}
        tool = getattr(step_output, "tool", None)
        self._tell("agent_action", data if tool is None else {**data, "tool": str(tool)}, None)

    def _tell(self, event_type: str, data: dict[str, Any], agent: Any, severity: Severity = "info") -> None:
        agent_id = None if agent is None else f"{self._crew_name}/{_role(agent)}"
        self._send("custom", {"type": event_type, "data": data}, severity, None, agent_id)


def _role(agent: Any) -> str:
    return name_of(agent, "role", "name")


def _description(task: Any) -> str:
    return name_of(task, "description", "name")
