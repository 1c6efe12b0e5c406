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
        "input_token_details.cached_tokens",
        "cache_read_input_tokens",
        "cacheReadTokens",
    ),
    "cache_write_tokens": (
        "cache_write_tokens",
        "input_token_details.cache_creation",
        "prompt_tokens_details.cache_write_tokens",
        "input_tokens_details.cache_write_tokens",
        "cache_creation_input_tokens",
        "cacheWriteTokens",
    ),
    "cache_write_1h_tokens": (
        "cache_write_1h_tokens",
        "cache_creation.ephemeral_1h_input_tokens",
        "input_token_details.ephemeral_1h_input_tokens",
        "cacheWrite1hTokens",
    ),
    "reasoning_tokens": (
        "reasoning_tokens",
        "completion_tokens_details.reasoning_tokens",
        "output_tokens_details.reasoning_tokens",
        "output_token_details.reasoning",
        "output_tokens_details.thinking_tokens",
        "reasoningTokens",
    ),
    "audio_input_tokens": (
        "audio_input_tokens",
        "prompt_tokens_details.audio_tokens",
        "input_tokens_details.audio_tokens",
        "input_token_details.audio",
        "input_token_details.audio_tokens",
        "audioInputTokens",
    ),
    "audio_output_tokens": (
        "audio_output_tokens",
        "completion_tokens_details.audio_tokens",
        "output_token_details.audio",
        "output_token_details.audio_tokens",
        "audioOutputTokens",
    ),
    "cache_read_audio_tokens": (
        "cache_read_audio_tokens",
        "input_token_details.cached_tokens_details.audio_tokens",
        "input_tokens_details.cached_tokens_details.audio_tokens",
        "prompt_tokens_details.cached_tokens_details.audio_tokens",
        "cacheReadAudioTokens",
    ),
    "web_searches": ("web_searches", "server_tool_use.web_search_requests", "webSearches"),
    "file_searches": ("file_searches", "fileSearches"),
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
    tier = _at(response, "service_tier") or _at(given, "service_tier")
    counted = _with_tier(with_searches(read_usage(given), _at(response, "output")), tier)
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
    gemini = _gemini_usage(given)
    if gemini is not None:
        return gemini
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
        counts["cache_read_audio_tokens"],
        counts["web_searches"] or None,
        counts["file_searches"] or None,
    )


def with_searches(usage: Usage | None, output: object) -> Usage | None:
    """Adds the searches among the items of a response. Opening a page that was found costs nothing."""
    if usage is None or isinstance(output, str | bytes | Mapping) or not isinstance(output, Iterable):
        return usage
    items = [(_at(item, "type"), _at(item, "action.type")) for item in output]
    web = sum(kind == "web_search_call" and action in (None, "search") for kind, action in items)
    files = sum(kind == "file_search_call" for kind, _ in items)
    return replace(usage, web_searches=usage.web_searches or web or None, file_searches=files or None)


def _gemini_usage(given: object) -> Usage | None:
    """Gemini counts thinking beside the answer, and the results of its own tools beside the prompt."""
    prompt = _count(given, ("prompt_token_count", "promptTokenCount"))
    if prompt is None:
        return None
    thoughts = _count(given, ("thoughts_token_count", "thoughtsTokenCount")) or 0
    answer = _count(given, ("candidates_token_count", "candidatesTokenCount", "response_token_count")) or 0
    tools = _count(given, ("tool_use_prompt_token_count", "toolUsePromptTokenCount")) or 0
    return Usage(
        prompt + tools,
        answer + thoughts,
        cache_read_tokens=_count(given, ("cached_content_token_count", "cachedContentTokenCount")),
        reasoning_tokens=thoughts or None,
        audio_input_tokens=_audio(_at(given, "prompt_tokens_details", "promptTokensDetails")),
        audio_output_tokens=_audio(_at(given, "candidates_tokens_details", "candidatesTokensDetails")),
        cache_read_audio_tokens=_audio(_at(given, "cache_tokens_details", "cacheTokensDetails")),
    )


def _audio(details: object) -> int | None:
    if not isinstance(details, list | tuple):
        return None
    audio = [item for item in details if str(getattr(_at(item, "modality"), "value", _at(item, "modality"))) == "AUDIO"]
    return sum(_count(item, ("token_count", "tokenCount")) or 0 for item in audio) or None


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
