"""
LangChain 1 and LangGraph. Tools are guarded at `BaseTool.run` and `arun`; models are seen, and a run that was stopped
is ended, by a callback handler that every callback manager takes in. `AgentLensMiddleware` is the explicit form.
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
    """What `init` does for LangChain, where it was called with `integrations=[]`."""
    registry.instrument_one("langchain")


def uninstrument_langchain() -> None:
    registry.uninstrument_one("langchain")


def __getattr__(name: str) -> Any:
    # The middleware needs the package langchain; everything else langchain-core only.
    if name == "AgentLensMiddleware":
        from agentlens.integrations.langchain.middleware import AgentLensMiddleware

        return AgentLensMiddleware
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
