"""
LangChain 1 and LangGraph. Tools are guarded at `BaseTool.run` and `arun`. A callback handler in every callback
manager sees model calls and ends a run that was stopped. `AgentLensMiddleware` is the explicit form.
"""

from __future__ import annotations

from typing import Any

from agentlens.integrations import registry
from agentlens.integrations.langchain.handler import AgentLensCallbackHandler

__all__ = [
    "AgentLensCallbackHandler",
    "AgentLensMiddleware",
    "instrument",
    "instrument_langchain",
    "uninstrument",
    "uninstrument_langchain",
]


def instrument() -> None:
    from agentlens.integrations.langchain import zero_touch

    zero_touch.instrument()


def uninstrument() -> None:
    from agentlens.integrations.langchain import zero_touch

    zero_touch.uninstrument()


def instrument_langchain() -> None:
    """Instruments LangChain, if `init` was called with `integrations=[]`."""
    registry.instrument_one("langchain")


def uninstrument_langchain() -> None:
    registry.uninstrument_one("langchain")


def __getattr__(name: str) -> Any:
    # The middleware needs the package langchain; everything else only langchain-core.
    if name == "AgentLensMiddleware":
        from agentlens.integrations.langchain.middleware import AgentLensMiddleware

        return AgentLensMiddleware
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
