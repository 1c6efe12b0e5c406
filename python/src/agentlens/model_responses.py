"""
Normalises answers of model clients. The only place that knows the field names of openai (chat completions and
responses) and anthropic, as objects or dicts. It imports neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from agentlens.jsonable import to_json
from agentlens.model_calls import Message, Usage

UnreadPart = Literal["response", "usage"]

# Field names of each count by client; the first that is a number wins. Cached tokens are included in the input.
_COUNTS: Mapping[str, tuple[str, ...]] = {
    "input_tokens": ("input_tokens", "prompt_tokens", "inputTokens"),
    "output_tokens": ("output_tokens", "completion_tokens", "outputTokens"),
    "total_tokens": ("total_tokens", "totalTokens"),
    "cache_read_tokens": (
        "cache_read_tokens",
        "prompt_tokens_details.cached_tokens",
        "input_tokens_details.cached_tokens",
        "input_token_details.cache_read",
        "cache_read_input_tokens",
        "cacheReadTokens",
    ),
    "cache_write_tokens": (
        "cache_write_tokens",
        "input_token_details.cache_creation",
        "cache_creation_input_tokens",
        "cacheWriteTokens",
    ),
    "cache_write_1h_tokens": (
        "cache_write_1h_tokens",
        "cache_creation.ephemeral_1h_input_tokens",
        "cacheWrite1hTokens",
    ),
    "reasoning_tokens": (
        "reasoning_tokens",
        "completion_tokens_details.reasoning_tokens",
        "output_tokens_details.reasoning_tokens",
        "output_token_details.reasoning",
        "reasoningTokens",
    ),
    "audio_input_tokens": (
        "audio_input_tokens",
        "prompt_tokens_details.audio_tokens",
        "input_token_details.audio",
        "audioInputTokens",
    ),
    "audio_output_tokens": (
        "audio_output_tokens",
        "completion_tokens_details.audio_tokens",
        "output_token_details.audio",
        "audioOutputTokens",
    ),
}
# Anthropic counts these in addition to `input_tokens`.
_BESIDE_INPUT = ("cache_read_input_tokens", "cache_creation_input_tokens")


@dataclass(frozen=True)
class ReadResponse:
    text: str | None
    usage: Usage
    model: str | None
    finish_reason: str | None
    # Parts that were present but could not be read.
    unread: tuple[UnreadPart, ...]


def read_response(
    response: object,
    *,
    text: object = None,
    usage: object = None,
    model: str | None = None,
    finish_reason: str | None = None,
) -> ReadResponse:
    """Never raises: unreadable parts are listed, and the call still counts."""
    choice = _first(_at(response, "choices"))
    found = _text(text) if text is not None else _answer_text(response, choice)
    given = usage if usage is not None else _at(response, "usage") or _at(response, "usage_metadata")
    counted = _with_tier(read_usage(given), _at(response, "service_tier") or _at(given, "service_tier"))
    name = _at(response, "model")
    reason = _at(choice, "finish_reason") or _at(response, "stop_reason")
    unread: list[UnreadPart] = []
    if response is not None and found is None and choice is None and _at(response, "content", "output") is None:
        unread.append("response")
    if given is not None and counted is None:
        unread.append("usage")
    return ReadResponse(
        found,
        counted or Usage(),
        model or (name if isinstance(name, str) else None),
        finish_reason or (reason if isinstance(reason, str) else None),
        tuple(unread),
    )


def read_usage(given: object) -> Usage | None:
    """None if there is no count."""
    if isinstance(given, Usage):
        return given
    counts = {name: _count(given, places) for name, places in _COUNTS.items()}
    if counts["input_tokens"] is None and counts["output_tokens"] is None:
        return None
    beside = [_count(given, (name,)) or 0 for name in _BESIDE_INPUT]
    return Usage(
        (counts["input_tokens"] or 0) + sum(beside),
        counts["output_tokens"] or 0,
        None if any(beside) else counts["total_tokens"],
        counts["cache_read_tokens"],
        counts["cache_write_tokens"],
        counts["cache_write_1h_tokens"],
        counts["reasoning_tokens"],
        counts["audio_input_tokens"],
        counts["audio_output_tokens"],
    )


def _with_tier(usage: Usage | None, tier: object) -> Usage | None:
    return usage if usage is None or not isinstance(tier, str) else replace(usage, service_tier=tier)


def messages_of(given: object) -> list[Message] | None:
    """A history of texts, dicts or a client's objects; None if it is not one."""
    if isinstance(given, str):
        return [_message(given)]
    if isinstance(given, Mapping | bytes) or not isinstance(given, Iterable):
        return None
    return [_message(item) for item in given]


def _message(given: object) -> Message:
    if isinstance(given, Mapping):
        return given
    if isinstance(given, str):
        return {"role": "user", "content": given}
    role, content = _at(given, "role", "type"), _at(given, "content")
    return {
        "role": role if isinstance(role, str) else "unknown",
        "content": to_json(given) if content is None else content,
    }


def _answer_text(response: object, choice: object) -> str | None:
    if isinstance(response, str):
        return response
    if choice is not None:
        return _text(_at(choice, "message.content", "message.refusal", "text"))
    return _text(_at(response, "output_text", "content", "output", "text"))


def _text(content: object) -> str | None:
    """A text unchanged; for a list of parts, the text of each, as nested by the client."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping | bytes) or not isinstance(content, Iterable):
        return None
    parts = (item if isinstance(item, str) else _text(_at(item, "text", "refusal", "content")) for item in content)
    found = [part for part in parts if part]
    return "".join(found) if found else None


def _count(given: object, places: tuple[str, ...]) -> int | None:
    for place in places:
        value = _at(given, place)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1e12:
            return int(value)
    return None


def _first(items: object) -> object:
    return items[0] if isinstance(items, list | tuple) and items else None


def _at(given: object, *places: str) -> Any:
    """The value at the first existing path, such as `message.content`, in objects and dicts."""
    for place in places:
        value: Any = given
        for name in place.split("."):
            value = _member(value, name)
        if value is not None:
            return value
    return None


def _member(given: object, name: str) -> Any:
    try:
        return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)
    except Exception:  # noqa: BLE001 — a property of the answer may raise anything
        return None
