"""Adapters of agent frameworks. Each can be imported where its framework is not installed."""
