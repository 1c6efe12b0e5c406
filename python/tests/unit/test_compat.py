"""The names of the original package, as a program that was written for it uses them."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace

import pytest

import agentlens
import agentlens.compat as agentlensai
from agentlens.compat.integrations.autogen import AgentLensAutoGenHandler
from agentlens.compat.integrations.base import BaseFrameworkPlugin
from agentlens.compat.integrations.crewai import AgentLensCrewAIHandler
from agentlens.compat.integrations.langchain import AgentLensCallbackHandler
from agentlens.compat.integrations.semantic_kernel import AgentLensSKHandler
from agentlens.testing import TestServer


@pytest.fixture
def server() -> TestServer:
    server = TestServer()
    server.client(agent_id="agent", session_id="session")
    return server


def test_every_name_of_the_original_is_there() -> None:
    names = (
        "init shutdown current_session_id PII_EMAIL PII_SSN PII_CREDIT_CARD PII_PHONE AgentLensClient "
        "AsyncAgentLensClient Agent AgentLensEvent EventQuery EventQueryResult GuardrailRule HealthScore LlmMessage "
        "LogLlmCallParams Session SessionQuery TimelineResult TokenUsage AgentLensError AuthenticationError "
        "NotFoundError ValidationError AgentLensConnectionError QuotaExceededError RateLimitError BackpressureError"
    )
    assert [name for name in names.split() if not hasattr(agentlensai, name)] == []


def test_its_init_observes_and_says_so_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[object] = []
    monkeypatch.setattr("agentlens._init.init", lambda url, **options: seen.append(options.get("enforce")) or "s")
    monkeypatch.setattr(agentlensai, "_said", False)
    with caplog.at_level(logging.WARNING):
        for options in ({}, {}, {"enforce": "enforce"}):
            agentlensai.init("http://platform.example", **options)
    assert seen == ["shadow", "shadow", "enforce"]
    assert len([line for line in caplog.messages if "nothing is blocked" in line]) == 1


def test_a_plugin_of_ones_own_sends_by_the_sink(server: TestServer) -> None:
    class Mine(BaseFrameworkPlugin):
        framework_name = "mine"

    plugin = Mine()
    plugin._send_custom_event("hello", {"n": 1})
    plugin._send_tool_call("t", "c1", {"a": 1})
    plugin._send_tool_response("t", "c1", "ok", 5.0)
    plugin._send_tool_error("t", "c2", "no", 5.0)
    kinds = [event["eventType"] for event in server.events]
    assert kinds == ["custom", "tool_call", "tool_response", "tool_error"]
    assert {event["sessionId"] for event in server.events} == {"session"}
    assert {event["metadata"]["source"] for event in server.events} == {"mine"}
    assert server.events_of("tool_error")[0]["severity"] == "error"


def test_a_plugin_without_init_and_client_does_nothing_and_raises_nothing() -> None:
    BaseFrameworkPlugin()._send_custom_event("hello", {})


def test_a_plugin_with_a_client_of_its_own_sends_by_that() -> None:
    sent: list[dict[str, object]] = []
    client = SimpleNamespace(_request=lambda method, path, json: sent.append(json["events"][0]))
    BaseFrameworkPlugin(client, "a", "s")._send_custom_event("hello", {"n": 1})
    assert (sent[0]["agentId"], sent[0]["sessionId"]) == ("a", "s")
    assert str(sent[0]["timestamp"]).endswith("Z")


def test_the_crewai_handler_tells_the_story_of_a_crew(server: TestServer) -> None:
    handler = AgentLensCrewAIHandler("press")
    agent, task = SimpleNamespace(role="writer", goal="write"), SimpleNamespace(description="a text")
    handler.on_crew_start(SimpleNamespace(agents=[agent]))
    handler.on_agent_start(agent)
    handler.on_task_start(task, agent)
    call_id = handler.on_tool_use(agent, "search", "tea")
    handler.on_tool_result(agent, "search", "found", call_id)
    handler.step_callback(SimpleNamespace(tool="search"))
    handler.on_task_delegation(agent, agent, task, "busy")
    handler.on_task_end(task, agent, "text")
    handler.on_agent_end(agent, "text")
    handler.on_crew_end(None, "text")
    told = [event["payload"].get("type") or event["eventType"] for event in server.events]
    begin = ["session_started", "agent_start", "task_start", "tool_call", "tool_response", "agent_action"]
    assert told == [*begin, "task_delegation", "task_end", "agent_end", "session_ended"]
    assert server.events_of("custom", "task_start")[0]["agentId"] == "press/writer"


def test_the_autogen_handler_tells_the_story_of_a_conversation(server: TestServer) -> None:
    handler = AgentLensAutoGenHandler()
    a, b = SimpleNamespace(name="a"), SimpleNamespace(name="b")
    handler.on_conversation_start(a, [a, b])
    assert handler.on_message_sent(a, b, {"content": "hi"}) == {"content": "hi"}
    handler.on_message_received(a, b, "hi")
    handler.on_llm_response(a, "hi", handler.on_llm_call(a, [{"role": "user", "content": "x"}], "m"), "m", 3, 4)
    handler.on_tool_result(a, "t", "ok", handler.on_tool_call(a, "t", {"x": 1}))
    handler.on_code_result(a, handler.on_code_execution(a, "1+1"), "2", 0)
    handler.on_conversation_end("done")
    told = [event["payload"].get("type") or event["eventType"] for event in server.events]
    begin = ["session_started", "agent_message", "message_received", "llm_call", "llm_response"]
    assert told == [*begin, "tool_call", "tool_response", "code_execution", "code_result", "session_ended"]


def test_handlers_redact(server: TestServer) -> None:
    AgentLensAutoGenHandler(redact=True).on_message_received("a", "b", "secret")
    AgentLensCallbackHandler(redact=True)._send_tool_response("t", "c", "secret", 1.0)
    AgentLensSKHandler(redact=True).on_planner_step("secret")
    assert "secret" not in json.dumps(server.events)


def test_what_the_platform_does_not_have_says_so() -> None:
    with (
        agentlensai.AgentLensClient("http://127.0.0.1:1") as client,
        pytest.raises(agentlens.NotFoundError, match="recall"),
    ):
        client.recall()
