"""Events leave behind the agent's back."""

from agentlens.sink.event_sink import EventSink, SinkCounts, SinkOptions

__all__ = ["EventSink", "SinkCounts", "SinkOptions"]
