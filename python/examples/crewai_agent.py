"""A crew of one agent with a scripted model."""

import json
import os
from typing import Any

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")

import _tools
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool

import agentlens

agentlens.init()


def use(call_id: str, name: str, **args: str) -> Any:
    return [{"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}]


SCRIPT = iter([use("1", "look", topic="tea"), use("2", "remove", path="/data/tea.txt"), "Done."])


class ScriptedLLM(BaseLLM):
    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        print(messages[-1]["content"])
        return next(SCRIPT)


agent = Agent(
    role="helper",
    goal="Tidy up",
    backstory="An example",
    llm=ScriptedLLM(model="scripted"),
    tools=[tool(_tools.look), tool(_tools.remove)],
)
task = Task(description="Tidy up.", expected_output="A word", agent=agent)
print(Crew(agents=[agent], tasks=[task]).kickoff())
