"""The original's LangChain handler: tool names instead of "unknown", errors of models recorded, `redact` honoured."""

from agentlens.integrations.langchain import (
    AgentLensCallbackHandler,
    instrument_langchain,
    uninstrument_langchain,
)

__all__ = ["AgentLensCallbackHandler", "instrument_langchain", "uninstrument_langchain"]
