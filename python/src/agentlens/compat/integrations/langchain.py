"""The original's LangChain handler: real tool names instead of "unknown", model errors recorded, `redact` supported."""

from agentlens.integrations.langchain import (
    AgentLensCallbackHandler,
    instrument_langchain,
    uninstrument_langchain,
)

__all__ = ["AgentLensCallbackHandler", "instrument_langchain", "uninstrument_langchain"]
