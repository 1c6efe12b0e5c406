"""The drivers whose frameworks are installed in this environment."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping

from conformance.world import Driver

# Driver module: the module its framework is imported by.
ALL: Mapping[str, str] = {
    "langchain_driver": "langchain",
}


def installed() -> list[Driver]:
    found = [name for name, module in ALL.items() if importlib.util.find_spec(module) is not None]
    return [importlib.import_module(f"conformance.{name}").DRIVER for name in found]
