"""
Classic AutoGen (module `autogen`: the distributions autogen 0.14 and ag2 before 1.0). Tools are guarded where they
are executed, because the guard hooks do not run in async chats.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from agentlens.calls import ModelAnswer, ModelCall, ToolCall
from agentlens.decision import Decision
from agentlens.integrations.base import BaseFrameworkPlugin
from agentlens.integrations.patching import Patches
from agentlens.model_responses import read_usage
from agentlens.run import Run

_patches = Patches()
# Tools and models of a chat may run on threads without a context; the run is found through the agent.
_chats: WeakKeyDictionary[Any, Run] = WeakKeyDictionary()


class _Plugin(BaseFrameworkPlugin):
    framework_name: ClassVar[str] = "autogen"
    distribution: ClassVar[str | None] = "autogen"

    def initiate_chat(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(agent: Any, recipient: Any, *args: Any, **kwargs: Any) -> Any:
            with self.root_run(agent.name) as run:
                _remember(run, agent, recipient)
                return original(agent, recipient, *args, **kwargs)

        return guarded

    def a_initiate_chat(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(agent: Any, recipient: Any, *args: Any, **kwargs: Any) -> Any:
            async with self.aroot_run(agent.name) as run:
                _remember(run, agent, recipient)
                return await original(agent, recipient, *args, **kwargs)

        return guarded

    def execute(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(agent: Any, func_call: dict[str, Any], call_id: str | None = None, *rest: Any, **more: Any) -> Any:
            call, name = self._call(agent, func_call, call_id, "autogen.execute"), func_call.get("name", "")
            return self.call_tool(
                call,
                lambda decided: original(agent, _changed(func_call, call, decided), call_id, *rest, **more),
                lambda decision: _refused(name, decision),
            )

        return guarded

    def a_execute(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(
            agent: Any, func_call: dict[str, Any], call_id: str | None = None, *rest: Any, **more: Any
        ) -> Any:
            call, name = self._call(agent, func_call, call_id, "autogen.a_execute"), func_call.get("name", "")
            return await self.acall_tool(
                call,
                lambda decided: original(agent, _changed(func_call, call, decided), call_id, *rest, **more),
                lambda decision: _refused(name, decision),
            )

        return guarded

    def create(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(wrapper: Any, **config: Any) -> Any:
            agent = config.get("agent")
            configs = getattr(wrapper, "_config_list", None) or [{}]
            model = config.get("model") or configs[0].get("model")
            messages = [
                {"role": item.get("role"), "content": item.get("content")} for item in config.get("messages", ())
            ]
            source = self.source("llm", getattr(agent, "name", None))
            call = ModelCall(messages, model, None, source, run=_run_of(agent))
            return self.call_model(call, lambda: original(wrapper, **config), _answer)

        return guarded

    def _call(self, agent: Any, func_call: dict[str, Any], call_id: str | None, seam: str) -> ToolCall:
        return ToolCall(
            func_call.get("name", ""),
            _read(func_call.get("arguments")),
            seam,
            call_id=call_id,
            source=self.source("tool", agent.name),
            run=_run_of(agent),
            error_in=lambda result: None if result[0] else str(result[1].get("content")),
        )


def instrument() -> None:
    from autogen import ConversableAgent, OpenAIWrapper

    plugin = _Plugin()
    _patches.add(ConversableAgent, "execute_function", plugin.execute)
    _patches.add(ConversableAgent, "a_execute_function", plugin.a_execute)
    _patches.add(ConversableAgent, "initiate_chat", plugin.initiate_chat)
    _patches.add(ConversableAgent, "a_initiate_chat", plugin.a_initiate_chat)
    _patches.add(OpenAIWrapper, "create", plugin.create)


def uninstrument() -> None:
    _patches.undo()
    _chats.clear()


def _remember(run: Run | None, *agents: Any) -> None:
    for agent in agents:
        if run is not None:
            _chats[agent] = run


def _run_of(agent: Any) -> Run | None:
    return None if agent is None else _chats.get(agent)


def _read(given: Any) -> dict[str, Any]:
    """The model's arguments; anything but an object is sent as `input`."""
    try:
        found = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return {"input": given}
    return dict(found) if isinstance(found, dict) else {"input": found}


def _changed(func_call: dict[str, Any], call: ToolCall, decided: dict[str, Any]) -> dict[str, Any]:
    return func_call if decided == call.args else {**func_call, "arguments": json.dumps(decided)}


def _refused(name: str, decision: Decision) -> tuple[bool, dict[str, Any]]:
    return False, {"name": name, "role": "function", "content": decision.refusal}


def _answer(response: Any) -> ModelAnswer:
    usage = getattr(response, "usage", None)
    message = response.choices[0].message
    content = getattr(message, "content", None)
    return ModelAnswer(
        text=content if isinstance(content, str) else None,
        usage=read_usage(usage),
        model=getattr(response, "model", None),
        finish_reason=getattr(response.choices[0], "finish_reason", None),
    )
