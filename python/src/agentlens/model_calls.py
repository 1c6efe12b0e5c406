"""How a model call is reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentlens.jsonable import to_json

Message = Mapping[str, Any]


@dataclass(frozen=True)
class Usage:
    """
    Tokens of a model call, by each kind that vendors bill. Cached tokens and audio are included in the input, thinking
    and audio in the output, cache writes for an hour in the cache writes.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    reasoning_tokens: int | None = None
    audio_input_tokens: int | None = None
    audio_output_tokens: int | None = None
    # Audio that was read from the cache: a part of the cached reads and of the audio of the input.
    cache_read_audio_tokens: int | None = None
    # Web searches that the vendor ran; vendors charge a fee for each.
    web_searches: int | None = None
    # Searches of the vendor's own file store.
    file_searches: int | None = None
    # The tier that served the call, as the vendor names it: default, flex, priority, batch.
    service_tier: str | None = None

    def wire(self) -> dict[str, int | str]:
        total = self.input_tokens + self.output_tokens if self.total_tokens is None else self.total_tokens
        found: dict[str, int | str | None] = {
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "totalTokens": total,
            "cacheReadTokens": self.cache_read_tokens,
            "cacheWriteTokens": self.cache_write_tokens,
            "cacheWrite1hTokens": self.cache_write_1h_tokens,
            "reasoningTokens": self.reasoning_tokens,
            "audioInputTokens": self.audio_input_tokens,
            "audioOutputTokens": self.audio_output_tokens,
            "cacheReadAudioTokens": self.cache_read_audio_tokens,
            "webSearches": self.web_searches,
            "fileSearches": self.file_searches,
            "serviceTier": self.service_tier,
        }
        return {key: value for key, value in found.items() if value is not None}


def wire_message(message: Message) -> dict[str, Any]:
    """Content that the platform accepts: a text, a list of objects, or nothing."""
    content = message.get("content")
    if isinstance(content, list | tuple):
        content = [item if isinstance(item, Mapping) else {"type": "text", "text": str(item)} for item in content]
    elif content is not None and not isinstance(content, str):
        content = to_json(content)
    return {**message, "role": str(message.get("role", "unknown")), "content": content}
