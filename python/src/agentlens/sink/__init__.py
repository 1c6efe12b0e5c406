"""Sends events in the background."""

from agentlens.sink.event_sink import EventSink, SinkCounts, SinkOptions

__all__ = ["EventSink", "SinkCounts", "SinkOptions"]
