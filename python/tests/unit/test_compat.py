"""The names of the original package, as a program that was written for it uses them."""

from __future__ import annotations

import asyncio
import http.server
import json
import logging
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

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
    monkeypatch.setattr(agentlensai, "_warned", False)
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


class Platform(http.server.ThreadingHTTPServer):
    """Answers every call with an allowance; `events` are what arrived."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._events: list[dict[str, Any]] = []
        self._changed = threading.Condition()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def took(self, events: list[dict[str, Any]]) -> None:
        with self._changed:
            self._events.extend(events)
            self._changed.notify_all()

    def event(self, event_type: str, custom: str | None = None) -> dict[str, Any]:
        """The first event of a type, as soon as it arrives."""

        def found() -> list[dict[str, Any]]:
            return [
                event
                for event in self._events
                if event["eventType"] == event_type and (custom is None or event["payload"].get("type") == custom)
            ]

        with self._changed:
            assert self._changed.wait_for(found, 10), f"no {event_type} arrived"
            return found()[0]


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Platform

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers["authorization"] != "Bearer key":
            self.send_response(401)
            self.end_headers()
            return
        if self.path.startswith("/api/events"):
            self.server.took(body["events"])
        allow = {"verdict": "ALLOW", "control": "CONTINUE", "cause": {"kind": "ALLOW"}, "message": "", "ingested": 1}
        text = json.dumps(allow).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def platform() -> Iterator[Platform]:
    server = Platform()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(params=[agentlensai.AgentLensClient, agentlensai.AsyncAgentLensClient])
def client(request: pytest.FixtureRequest, platform: Platform) -> Any:
    return request.param(platform.url, "key")


def test_a_plugin_with_a_client_sends_without_init(platform: Platform, client: Any) -> None:
    BaseFrameworkPlugin(client, "a", "s")._send_custom_event("hello", {"n": 1})
    event = platform.event("custom", "hello")
    assert (event["agentId"], event["sessionId"]) == ("a", "s")
    assert str(event["timestamp"]).endswith("Z")


def test_a_plugin_prefers_its_client_to_init(server: TestServer, platform: Platform, client: Any) -> None:
    BaseFrameworkPlugin(client, "a", "s")._send_custom_event("hello", {"n": 1})
    assert platform.event("custom", "hello")["agentId"] == "a"
    assert server.events_of("custom", "hello") == []


def test_a_plugin_sends_through_a_client_of_another_class() -> None:
    arrived = threading.Event()
    sent: list[dict[str, Any]] = []

    def request(method: str, path: str, json: Any) -> Any:
        sent.extend(json["events"])
        arrived.set()
        return {"ingested": 1}

    BaseFrameworkPlugin(SimpleNamespace(_request=request), "a", "s")._send_custom_event("hello", {"n": 1})
    assert arrived.wait(20)
    assert (sent[0]["agentId"], sent[0]["sessionId"]) == ("a", "s")


def test_the_semantic_kernel_filter_records_with_a_client_alone(platform: Platform, client: Any) -> None:
    pytest.importorskip("semantic_kernel")
    from semantic_kernel import Kernel
    from semantic_kernel.functions import kernel_function

    class Shop:
        @kernel_function
        def price(self, eur: int) -> str:
            return f"the price is {eur}"

    async def play() -> str:
        kernel = Kernel()
        kernel.add_plugin(Shop(), "shop")
        kernel.add_filter("function_invocation", AgentLensSKHandler(client=client, agent_id="a").filter)
        return str(await kernel.invoke(plugin_name="shop", function_name="price", eur=7))

    assert asyncio.run(play()) == "the price is 7"
    assert platform.event("tool_call")["payload"]["toolName"] == "price"
    assert platform.event("tool_response")["agentId"] == "a"


def test_the_langchain_handler_records_with_a_client_alone(platform: Platform, client: Any) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langchain_core.runnables import RunnableLambda
    from langchain_core.tools import tool

    @tool
    def price(eur: int) -> str:
        """Sets a price."""
        return f"the price is {eur}"

    def work(value: Any, config: Any) -> str:
        FakeListChatModel(responses=["7"]).invoke("how much?", config)
        return str(price.invoke({"eur": 7}, config))

    handler = AgentLensCallbackHandler(client=client, agent_id="a")
    assert RunnableLambda(work).invoke("go", {"callbacks": [handler]}) == "the price is 7"
    assert platform.event("llm_response")["agentId"] == "a"
    call, answer = platform.event("tool_call"), platform.event("tool_response")
    assert call["payload"]["toolName"] == "price"
    assert call["payload"]["arguments"] == {"eur": 7}
    assert call["payload"]["callId"] == answer["payload"]["callId"]
    assert {call["sessionId"]} == {answer["sessionId"], platform.event("llm_call")["sessionId"]}


def test_the_langchain_handler_records_models_that_complete_text(platform: Platform, client: Any) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.language_models.fake import FakeListLLM

    handler = AgentLensCallbackHandler(client=client, agent_id="a")
    assert FakeListLLM(responses=["7"]).invoke("how much?", {"callbacks": [handler]}) == "7"
    assert platform.event("llm_call")["payload"]["messages"] == [{"role": "user", "content": "how much?"}]
    assert platform.event("llm_response")["payload"]["completion"] == "7"


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
