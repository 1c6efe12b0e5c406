"""What is LangChain's and LangGraph's alone."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import agentlens
from agentlens.integrations.langchain import AgentLensMiddleware
from agentlens.testing import TestServer, block, need_approval
from conformance.langchain_driver import ScriptedModel
from conformance.world import DONE, Turn, Use, World


@pytest.fixture
def server() -> TestServer:
    return TestServer()


def agent_of(world: World, **options: Any) -> Any:
    tools = [StructuredTool.from_function(tool) for tool in world.tools()]
    return create_agent(ScriptedModel(world=world), tools=tools, **options)


ASKED: Any = {"messages": [{"role": "user", "content": "go"}]}


def test_a_graph_pauses_for_a_human_and_the_same_call_goes_on_in_the_same_run(server: TestServer) -> None:
    server.rule(need_approval(), tools=["pay"]).client(integrations=["langchain"])
    world = World((Turn("I pay.", [Use("pay", {"eur": 7})]), Turn(DONE)))
    agent = agent_of(world, middleware=[AgentLensMiddleware(interrupt=True)], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t1"}}
    paused = agent.invoke(ASKED, config)
    assert paused["__interrupt__"][0].value["args"] == {"eur": 7}
    assert world.done == []
    server.approve()
    agent.invoke(Command(resume=True), config)
    assert world.done == [("pay", 7)]
    assert len(server.runs) == 1
    assert {question["callId"] for question in server.asked()} == {"c0-0"}


def test_resumed_before_anybody_decided_the_call_does_not_happen(server: TestServer) -> None:
    server.rule(need_approval(), tools=["pay"]).client(integrations=["langchain"])
    world = World((Turn("I pay.", [Use("pay", {"eur": 7})]), Turn(DONE)))
    agent = agent_of(world, middleware=[AgentLensMiddleware(interrupt=True)], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t1"}}
    agent.invoke(ASKED, config)
    agent.invoke(Command(resume=True), config)
    assert world.done == []


def test_middleware_and_patch_around_one_call_ask_once(server: TestServer) -> None:
    server.client(integrations=["langchain"])
    world = World((Turn("I look.", [Use("look", {"topic": "tea"})]), Turn(DONE)))
    agent_of(world, middleware=[AgentLensMiddleware()]).invoke(ASKED)
    assert len(server.asked()) == 1


def test_the_middleware_guards_alone(server: TestServer) -> None:
    server.rule(block("No."), tools=["remove"]).client()
    world = World((Turn("I remove.", [Use("remove", {"path": "/tea"})]), Turn(DONE)))
    with agentlens.run():
        agent_of(world, middleware=[AgentLensMiddleware()]).invoke(ASKED)
    assert world.done == []
    assert "No." in world.shown[-1]


def test_a_run_of_the_program_is_joined(server: TestServer) -> None:
    server.client(integrations=["langchain"])
    world = World((Turn("I look.", [Use("look", {"topic": "tea"})]), Turn(DONE)))
    with agentlens.run(run_id="mine"):
        agent_of(world).invoke(ASKED)
    assert set(server.runs) == {"mine"}


def test_a_tool_that_is_guarded_and_registered_is_asked_about_once(server: TestServer) -> None:
    server.client(integrations=["langchain"])
    world = World((Turn("I look.", [Use("look", {"topic": "tea"})]), Turn(DONE)))

    @agentlens.guarded_tool
    def look(topic: str) -> str:
        """Looks something up."""
        return world.look(topic)

    tools = [StructuredTool.from_function(look)]
    create_agent(ScriptedModel(world=world), tools=tools).invoke(ASKED)
    assert world.done == [("look", "tea")]
    assert len(server.asked()) == 1
