"""The supported frameworks and their state."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from agentlens.forks import ForkLock

logger = logging.getLogger("agentlens")


@dataclass(frozen=True)
class Integration:
    """
    `trigger` is the module whose import makes the framework usable; `module` is ours and has `instrument()` and
    `uninstrument()`; `tried` is the range of tested versions, as [first, before).
    """

    trigger: str
    module: str
    distribution: str
    tried: tuple[tuple[int, ...], tuple[int, ...]]


# Several frameworks share the name "autogen".
INTEGRATIONS: Mapping[str, tuple[Integration, ...]] = {
    "langchain": (Integration("langchain_core.tools.base", "langchain", "langchain-core", ((1, 0), (2,))),),
    "crewai": (Integration("crewai", "crewai", "crewai", ((1, 15), (2,))),),
    "semantic_kernel": (Integration("semantic_kernel.kernel", "semantic_kernel", "semantic-kernel", ((1, 40), (2,))),),
    "openai_agents": (Integration("agents", "openai_agents", "openai-agents", ((0, 20), (1,))),),
    "pydantic_ai": (Integration("pydantic_ai", "pydantic_ai", "pydantic-ai-slim", ((2,), (3,))),),
    "agent_framework": (Integration("agent_framework", "agent_framework", "agent-framework-core", ((1,), (2,))),),
    "autogen": (
        Integration("autogen", "autogen.classic", "autogen", ((0, 14), (0, 15))),
        Integration("autogen_agentchat.agents", "autogen.agentchat", "autogen-agentchat", ((0, 7), (0, 8))),
        Integration("ag2", "autogen.ag2", "ag2", ((1,), (2,))),
    ),
}
# Provider patches of the original package, which this one does not have.
_PROVIDER_NAMES = "openai anthropic litellm bedrock vertex gemini mistral cohere ollama llamaindex haystack"
PROVIDERS = frozenset(_PROVIDER_NAMES.split(" "))

_lock = ForkLock()
_status: dict[str, str] = {}
_active: dict[str, Integration] = {}
_waiting: dict[str, Integration] = {}


def status() -> dict[str, str]:
    return dict(_status)


def is_instrumented(module: str) -> bool:
    return module in _active


def instrument(names: Sequence[str] | None) -> None:
    """None: every installed framework. One that is not imported yet is instrumented at its first import."""
    for name in names if names is not None else INTEGRATIONS:
        if name in PROVIDERS:
            logger.warning(
                "AgentLens: the provider %s has no patch; record its calls with a framework "
                "adapter (%s), or with run.before_llm and run.after_llm",
                name,
                ", ".join(INTEGRATIONS),
            )
            _status[name] = "not supported"
            continue
        if name not in INTEGRATIONS:
            raise ValueError(f"init: there is no integration {name!r}; there are {', '.join(INTEGRATIONS)}")
        for integration in INTEGRATIONS[name]:
            _prepare(integration, asked_for=names is not None)
    if _waiting and _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def instrument_one(module: str) -> None:
    """Instruments at once, importing the framework if necessary; ImportError if it is not installed."""
    integration = next(item for items in INTEGRATIONS.values() for item in items if item.module == module)
    importlib.import_module(integration.trigger)
    _instrument(integration)


def uninstrument_one(module: str) -> None:
    with _lock:
        integration = _active.pop(module, None)
        for trigger in [key for key, item in _waiting.items() if item.module == module]:
            del _waiting[trigger]
    if integration is not None:
        _undo(integration)


def uninstrument() -> None:
    with _lock:
        active = list(_active.values())
        _active.clear()
        _waiting.clear()
        if _finder in sys.meta_path:
            sys.meta_path.remove(_finder)
    for integration in active:
        _undo(integration)
    _status.clear()


def version_of(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _prepare(integration: Integration, *, asked_for: bool) -> None:
    top = integration.trigger.partition(".")[0]
    try:
        found = importlib.util.find_spec(top) is not None
    except (ImportError, ValueError, AttributeError):
        found = top in sys.modules
    if not found:
        if asked_for:
            logger.warning("AgentLens: %s is not installed", integration.distribution)
            _status[integration.module] = "not installed"
        return
    if _imported(integration.trigger):
        _instrument(integration)
    else:
        with _lock:
            _waiting[integration.trigger] = integration
        _status[integration.module] = "waits for its import"


def _imported(trigger: str) -> bool:
    module = sys.modules.get(trigger)
    spec = getattr(module, "__spec__", None)
    # A module that is currently being imported is instrumented when that is done.
    return module is not None and not getattr(spec, "_initializing", False)


def _instrument(integration: Integration) -> None:
    with _lock:
        if integration.module in _active:
            return
        _active[integration.module] = integration
    try:
        importlib.import_module(f"agentlens.integrations.{integration.module}").instrument()
    except Exception as error:  # noqa: BLE001 - one framework's trouble is not another's
        with _lock:
            _active.pop(integration.module, None)
        _undo(integration)
        logger.warning(
            "AgentLens: %s %s could not be instrumented (%s: %s); its tools are NOT guarded",
            integration.distribution,
            version_of(integration.distribution),
            type(error).__name__,
            error,
        )
        _status[integration.module] = f"failed: {type(error).__name__}: {error}"
        return
    _status[integration.module] = _judged(integration)


def _judged(integration: Integration) -> str:
    version = version_of(integration.distribution)
    numbers = tuple(int(part) for part in (version or "0").split(".")[:3] if part.isdigit())
    first, before = integration.tried
    if version is None or first <= numbers < before:
        return "enforced"
    logger.warning(
        "AgentLens: %s %s is not a tested version (%s up to, but not including, %s); all extension points "
        "exist, check that a blocked tool does not run",
        integration.distribution,
        version,
        ".".join(map(str, first)),
        ".".join(map(str, before)),
    )
    return f"untried version {version}"


def _undo(integration: Integration) -> None:
    try:
        importlib.import_module(f"agentlens.integrations.{integration.module}").uninstrument()
    except Exception:
        logger.exception("AgentLens: undoing the patches of %s failed", integration.module)


class _AfterImport(importlib.abc.MetaPathFinder):
    """Instruments a framework after its module is imported, and delegates the import to the real loader."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> Any:
        if name not in _waiting:
            return None
        with _lock:
            integration = _waiting.pop(name, None)
        if integration is None:
            return None
        spec = importlib.util.find_spec(name) if path is None else importlib.machinery.PathFinder.find_spec(name, path)
        loader = getattr(spec, "loader", None)
        if spec is None or loader is None or not hasattr(loader, "exec_module"):
            _status[integration.module] = "its import could not be followed"
            return spec
        spec.loader = _Following(loader, integration)
        return spec


class _Following(importlib.abc.Loader):
    def __init__(self, loader: Any, integration: Integration) -> None:
        self._loader = loader
        self._integration = integration

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        _instrument(self._integration)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


_finder = _AfterImport()
