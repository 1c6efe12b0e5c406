"""Adapters of agent frameworks. Each can be imported without its framework."""
