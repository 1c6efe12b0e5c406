"""The drivers whose frameworks are installed in this environment."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping

from conformance.world import Driver

# Driver module: the module its framework is imported by.
ALL: Mapping[str, str] = {
    "langchain_driver": "langchain",
    "openai_agents_driver": "agents",
    "pydantic_ai_driver": "pydantic_ai",
    "agent_framework_driver": "agent_framework",
    "ag2_driver": "ag2",
    "classic_driver": "autogen",
    "agentchat_driver": "autogen_agentchat",
    "crewai_driver": "crewai",
    "semantic_kernel_driver": "semantic_kernel",
}


def installed() -> list[Driver]:
    found = [name for name, module in ALL.items() if importlib.util.find_spec(module) is not None]
    return [importlib.import_module(f"conformance.{name}").DRIVER for name in found]
