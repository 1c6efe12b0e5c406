from __future__ import annotations

import asyncio
import json
import os
from typing import Any

os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"
os.environ["OTEL_SDK_DISABLED"] = "true"

from crewai import Agent, Crew, Task
from crewai.hooks import InterceptionPoint, get_hooks
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool as crew_tool
from crewai.tools.structured_tool import CrewStructuredTool

from conformance.world import Framework, World


class ScriptedLLM(BaseLLM):
    world: Any = None
    native: bool = True

    def supports_function_calling(self) -> bool:
        return self.native

    def call(self, messages: Any, tools: Any = None, **kwargs: Any) -> Any:
        index, turn = self.world.next_turn(messages)
        self._track_token_usage_internal({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
        if not turn.uses:
            return turn.text if self.native else f"Thought: I know.\nFinal Answer: {turn.text}"
        if self.native:
            return [
                {
                    "id": f"c{index}-{n}",
                    "type": "function",
                    "function": {"name": use.tool, "arguments": json.dumps(use.args)},
                }
                for n, use in enumerate(turn.uses)
            ]
        use = turn.uses[0]
        return f"Thought: {turn.text}\nAction: {use.tool}\nAction Input: {json.dumps(use.args)}"

    async def acall(self, messages: Any, tools: Any = None, **kwargs: Any) -> Any:
        return self.call(messages, tools)


class CrewAiDriver(Framework):
    name = "crewai"
    integration = "crewai"
    source = "crewai"
    modes = ("native", "async", "react")
    one_at_a_time = ("react",)

    def play(self, world: World, mode: str) -> None:
        llm = ScriptedLLM(model="scripted", world=world, native=mode != "react")
        tools = [crew_tool(_named(tool)) for tool in world.tools()]
        agent = Agent(role="helper", goal="help", backstory="none", llm=llm, tools=tools, max_iter=8, max_retry_limit=0)
        task = Task(description="go", expected_output="done", agent=agent)
        crew = Crew(agents=[agent], tasks=[task], name="helpers")
        try:
            if mode == "async":
                asyncio.run(crew.akickoff())
            else:
                crew.kickoff()
        except Exception as error:  # noqa: BLE001
            world.error = error

    def originals(self) -> list[object]:
        points = (InterceptionPoint.PRE_TOOL_CALL, InterceptionPoint.POST_TOOL_CALL, InterceptionPoint.PRE_MODEL_CALL)
        return [*(len(get_hooks(point)) for point in points), Crew.kickoff, CrewStructuredTool.invoke]


def _named(method: Any) -> Any:
    """A plain function with the same signature."""
    import functools

    @functools.wraps(method)
    def function(*args: Any, **kwargs: Any) -> str:
        return str(method(*args, **kwargs))

    return function


DRIVER = CrewAiDriver()
