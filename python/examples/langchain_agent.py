"""A LangChain agent with a scripted model; `agentlens.init()` is the only line about AgentLens."""

from typing import Any

from _tools import look, remove
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

import agentlens


class ScriptedModel(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


agentlens.init()

script = [
    AIMessage("I look.", tool_calls=[{"name": "look", "args": {"topic": "tea"}, "id": "1"}]),
    AIMessage("I remove.", tool_calls=[{"name": "remove", "args": {"path": "/data/tea.txt"}, "id": "2"}]),
    AIMessage("Done."),
]
agent = create_agent(ScriptedModel(messages=iter(script)), tools=[tool(look), tool(remove)])
for message in agent.invoke({"messages": [{"role": "user", "content": "Tidy up."}]})["messages"]:
    print(message.type, message.content)
