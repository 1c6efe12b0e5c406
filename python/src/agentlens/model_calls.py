"""How a model call is reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentlens.jsonable import to_json

Message = Mapping[str, Any]


@dataclass(frozen=True)
class Usage:
    """Tokens of a model call. Cached tokens are included in the input."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None

    def wire(self) -> dict[str, int]:
        total = self.input_tokens + self.output_tokens if self.total_tokens is None else self.total_tokens
        found = {
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "totalTokens": total,
            "cacheReadTokens": self.cache_read_tokens,
            "cacheWriteTokens": self.cache_write_tokens,
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
