"""The single instance of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentlens.instance import Instance

_instance: Instance | None = None


def get() -> Instance | None:
    return _instance


def put(instance: Instance | None) -> None:
    global _instance
    _instance = instance


def required() -> Instance:
    if _instance is None:
        raise RuntimeError("agentlens.init() was not called, or agentlens.shutdown() was")
    return _instance
