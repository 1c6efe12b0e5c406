"""An AG2 1.x agent with AG2's own test model."""

import asyncio
import json

from _tools import look, remove
from ag2 import Agent
from ag2.events import ToolCallEvent, ToolResultEvent
from ag2.testing import TestConfig

import agentlens

agentlens.init()

script = TestConfig(
    ToolCallEvent("look", arguments=json.dumps({"topic": "tea"})),
    ToolCallEvent("remove", arguments=json.dumps({"path": "/data/tea.txt"})),
    "Done.",
)


async def main() -> None:
    reply = await Agent("example", config=script, tools=[look, remove]).ask("Tidy up.")
    for event in await reply.history.get_events():
        if isinstance(event, ToolResultEvent):
            print(event.name, event.result.parts[0])
    print(reply.body)


asyncio.run(main())
