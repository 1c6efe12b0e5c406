"""Answers as the clients hand them on: openai 2 and 3, anthropic 0.x, as objects and as dicts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import agentlens
from agentlens.model_calls import Usage
from agentlens.model_responses import messages_of, read_response, read_usage
from agentlens.testing import TestServer

CHAT_COMPLETION: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "gpt-4.1-2025-04-14",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello.", "refusal": None, "tool_calls": None},
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 19,
        "completion_tokens": 10,
        "total_tokens": 29,
        "prompt_tokens_details": {"cached_tokens": 4},
    },
}
RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "model": "gpt-4.1",
    "output": [
        {"id": "rs_1", "type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]},
    ],
    "usage": {
        "input_tokens": 36,
        "output_tokens": 87,
        "total_tokens": 123,
        "input_tokens_details": {"cached_tokens": 6},
    },
}
ANTHROPIC: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [
        {"type": "text", "text": "Hello."},
        {"type": "tool_use", "id": "toolu_1", "name": "refund", "input": {"eur": 20}},
    ],
    "stop_reason": "tool_use",
    "usage": {
        "input_tokens": 10,
        "output_tokens": 7,
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 5,
    },
}


def objects(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{key: objects(member) for key, member in value.items()})
    return [objects(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("shape", [dict, objects])
@pytest.mark.parametrize(
    ("given", "usage"),
    [
        (
            {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cache_write_tokens": 4}},
            Usage(9, 1, cache_write_tokens=4),
        ),
        (
            {"input_tokens": 9, "output_tokens": 1, "input_tokens_details": {"cache_write_tokens": 4}},
            Usage(9, 1, cache_write_tokens=4),
        ),
        (
            {
                "input_tokens": 10,
                "output_tokens": 0,
                "input_token_details": {
                    "audio_tokens": 6,
                    "cached_tokens": 4,
                    "cached_tokens_details": {"audio_tokens": 3},
                },
            },
            Usage(10, 0, cache_read_tokens=4, audio_input_tokens=6, cache_read_audio_tokens=3),
        ),
        (
            {"input_tokens": 10, "output_tokens": 5, "server_tool_use": {"web_search_requests": 3}},
            Usage(10, 5, web_searches=3),
        ),
        (
            {
                "prompt_token_count": 100,
                "candidates_token_count": 20,
                "thoughts_token_count": 10,
                "tool_use_prompt_token_count": 30,
            },
            Usage(130, 30, reasoning_tokens=10),
        ),
    ],
)
def test_counts_every_kind_of_token_that_is_billed(
    shape: Callable[[Any], Any], given: dict[str, Any], usage: Usage
) -> None:
    assert read_usage(shape(given)) == usage


def test_counts_searches_among_the_items_of_a_response() -> None:
    output = [
        {"type": "web_search_call", "action": {"type": "search"}},
        {"type": "web_search_call", "action": {"type": "open_page"}},
        {"type": "file_search_call"},
    ]
    usage = read_response({**RESPONSE, "output": output}).usage
    assert (usage.web_searches, usage.file_searches) == (1, 1)


@pytest.mark.parametrize("shape", [dict, objects])
@pytest.mark.parametrize(
    ("given", "model", "usage", "reason"),
    [
        (CHAT_COMPLETION, "gpt-4.1-2025-04-14", Usage(19, 10, 29, 4), "stop"),
        (RESPONSE, "gpt-4.1", Usage(36, 87, 123, 6), None),
        (ANTHROPIC, "claude-sonnet-4-5", Usage(18, 7, None, 5, 3), "tool_use"),
    ],
)
def test_the_answer_of_a_client_is_read(shape: Any, given: Any, model: str, usage: Usage, reason: str | None) -> None:
    read = read_response(shape(given))
    assert (read.text, read.model, read.usage, read.finish_reason) == ("Hello.", model, usage, reason)
    assert read.unread == ()


class Raising:
    @property
    def usage(self) -> object:
        raise ValueError("no")


@pytest.mark.parametrize("given", [7, {}, object(), Raising(), {"usage": None}, b"x"])
def test_what_is_no_answer_is_named_and_never_raises(given: object) -> None:
    assert read_response(given).unread == ("response",)


@pytest.mark.parametrize("given", [{"input_tokens": -1}, {"tokens": 5}, "many", 7, {"prompt_tokens": True}])
def test_what_is_no_usage_is_none(given: object) -> None:
    assert read_usage(given) is None


def test_a_history_may_be_text_dicts_or_objects() -> None:
    assert messages_of("hi") == [{"role": "user", "content": "hi"}]
    assert messages_of([SimpleNamespace(role="user", content="hi")]) == [{"role": "user", "content": "hi"}]
    assert messages_of(None) is None


def test_the_hooks_count_what_a_client_answered(caplog: pytest.LogCaptureFixture) -> None:
    server = TestServer()
    server.client()
    with agentlens.run(run_id="r") as run:
        run.after_llm(run.before_llm("hi"), objects(CHAT_COMPLETION))  # type: ignore[arg-type]
        run.after_llm(run.before_llm([]), text=[{"type": "text", "text": "Hello."}], usage={"prompt_tokens": 11})
        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                run.after_llm(run.before_llm([]), usage={"tokens": 1})
    first, second, *_ = [event["payload"] for event in server.events_of("llm_response")]
    assert (first["completion"], first["model"], first["usage"]["inputTokens"]) == ("Hello.", "gpt-4.1-2025-04-14", 19)
    assert (second["completion"], second["usage"]["inputTokens"]) == ("Hello.", 11)
    assert caplog.text.count("could not read the usage") == 1


@pytest.mark.parametrize(("ending", "status"), [("completed", "success"), ("timed_out", "timeout"), ("hm", "error")])
def test_a_run_ends_as_it_says_and_an_unknown_word_is_no_success(ending: Any, status: str) -> None:
    server = TestServer()
    server.client()
    run = agentlens.run(run_id="r").start()
    run.end(ending)
    assert server.runs["r"]["ended"]["status"] == status
