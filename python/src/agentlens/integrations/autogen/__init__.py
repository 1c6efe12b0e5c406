"""The three frameworks called AutoGen: classic (`autogen`), Microsoft's `autogen_agentchat`, and AG2 1.x (`ag2`)."""

from __future__ import annotations

import importlib.util

from agentlens.integrations import registry

_MODULES = {
    "autogen": "autogen.classic",
    "autogen_agentchat": "autogen.agentchat",
    "ag2": "autogen.ag2",
}


def instrument_autogen() -> None:
    """Instruments each of them that is installed, if `init` was called with `integrations=[]`."""
    for framework, module in _MODULES.items():
        if importlib.util.find_spec(framework) is not None:
            registry.instrument_one(module)


def uninstrument_autogen() -> None:
    for module in _MODULES.values():
        registry.uninstrument_one(module)
