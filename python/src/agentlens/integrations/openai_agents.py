"""
OpenAI Agents. Tools are guarded on the copies that `Agent.get_all_tools` returns, models in their own class, runs at
the runner. Hosted, shell and computer tools are not function tools and are not visible here.
"""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, ClassVar

from agentlens.calls import ModelAnswer, ModelCall, ToolCall, ours
from agentlens.context import current
from agentlens.events import error_text
from agentlens.integrations import registry
from agentlens.integrations.base import BaseFrameworkPlugin, StackedModels
from agentlens.integrations.patching import MissingSeam, Patches
from agentlens.model_calls import Usage
from agentlens.model_responses import read_usage, with_searches

logger = logging.getLogger("agentlens")
_patches = Patches()
# A failing tool is turned into text before its caller sees it; the patch that does so stores the exception here.
_errors: ContextVar[list[BaseException] | None] = ContextVar("agentlens_openai_agents_errors", default=None)
_models = StackedModels("openai_agents")
_told: set[str] = set()


class _Plugin(BaseFrameworkPlugin):
    framework_name: ClassVar[str] = "openai_agents"
    distribution: ClassVar[str | None] = "openai-agents"

    # -- tools -----------------------------------------------------------------------------------------------------

    def get_all_tools(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(agent: Any, *args: Any, **kwargs: Any) -> Any:
            tools = await original(agent, *args, **kwargs)
            return [self.guarded_tool(tool, getattr(agent, "name", None)) for tool in tools]

        return guarded

    def guarded_tool(self, tool: Any, agent: str | None) -> Any:
        from agents import FunctionTool

        if not isinstance(tool, FunctionTool):
            self._say_once(tool)
            return tool
        if getattr(tool, "_agentlens", False):
            return tool
        invoke = tool.on_invoke_tool

        async def on_invoke_tool(context: Any, given: str) -> Any:
            errors: list[BaseException] = []
            call = ToolCall(
                tool.name,
                _read(given),
                "openai_agents",
                call_id=getattr(context, "tool_call_id", None),
                source=self.source("tool", agent),
                error_in=lambda result: error_text(errors[-1]) if errors else None,
            )

            async def execute(decided: dict[str, Any]) -> Any:
                token = _errors.set(errors)
                try:
                    return await invoke(context, given if decided == call.args else json.dumps(decided))
                finally:
                    _errors.reset(token)

            return await self.acall_tool(call, execute, lambda decision: decision.refusal)

        guarded = copy.copy(tool)
        guarded.on_invoke_tool = on_invoke_tool
        guarded._agentlens = True
        return guarded

    def noting_errors(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def noted(*args: Any, **kwargs: Any) -> Any:
            errors = _errors.get()
            error = kwargs.get("error")
            if errors is not None and error is not None:
                errors.append(error)
            return await original(*args, **kwargs)

        return noted

    def _say_once(self, tool: Any) -> None:
        kind = type(tool).__name__
        if kind not in _told:
            _told.add(kind)
            logger.warning("AgentLens: a %s does not run in this process; it is not guarded", kind)

    # -- models ----------------------------------------------------------------------------------------------------

    def get_model(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            model = original(*args, **kwargs)
            with ours("guarding a model"):
                _patches.add(type(model), "get_response", self.get_response)
                _patches.add(type(model), "stream_response", self.stream_response)
            return model

        return guarded

    def get_response(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(model: Any, *args: Any, **kwargs: Any) -> Any:
            if _models.inside:
                return await original(model, *args, **kwargs)
            call = self._model_call(model, args, kwargs)
            return await self.acall_model(call, lambda: _models.call(lambda: original(model, *args, **kwargs)), _answer)

        return guarded

    def stream_response(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(model: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            if _models.inside:
                return original(model, *args, **kwargs)
            call = self._model_call(model, args, kwargs)
            return self.stream_model(
                call, lambda: _models.stream(lambda: original(model, *args, **kwargs)), _streamed_answer
            )

        return guarded

    def _model_call(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ModelCall:
        instructions = kwargs.get("system_instructions", args[0] if args else None)
        asked = kwargs.get("input", args[1] if len(args) > 1 else None)
        items = (
            [{"role": "user", "content": asked}] if isinstance(asked, str) else [_item(item) for item in asked or ()]
        )
        system = [] if instructions is None else [{"role": "system", "content": instructions}]
        name = getattr(model, "model", None)
        return ModelCall([*system, *items], name if isinstance(name, str) else None, "openai", self.source("model"))

    # -- runs ------------------------------------------------------------------------------------------------------

    def run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(runner: Any, starting_agent: Any, *args: Any, **kwargs: Any) -> Any:
            async with self.aroot_run(starting_agent.name):
                return await original(runner, starting_agent, *args, **kwargs)

        return guarded

    def run_sync(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(runner: Any, starting_agent: Any, *args: Any, **kwargs: Any) -> Any:
            with self.root_run(starting_agent.name):
                return original(runner, starting_agent, *args, **kwargs)

        return guarded

    def run_streamed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(runner: Any, starting_agent: Any, *args: Any, **kwargs: Any) -> Any:
            instance, joined = self.instance, current.get()
            if instance is None or (joined is not None and joined.belongs_to(instance) and not joined.ended):
                return original(runner, starting_agent, *args, **kwargs)
            run = instance.run(agent_id=starting_agent.name)
            run.start()
            # The streaming task copies the context it is created in.
            token = current.set(run)
            try:
                result = original(runner, starting_agent, *args, **kwargs)
            except BaseException as error:
                self.end_run(run, error)
                raise
            finally:
                current.reset(token)
            task = result.run_loop_task
            if task is None:
                self.end_run(run)
            else:
                task.add_done_callback(lambda done: self.end_run(run, None if done.cancelled() else done.exception()))
            return result

        return guarded


def guard_agent(agent: Any) -> Any:
    """The explicit form: a copy of the agent whose function tools are guarded."""
    plugin = _Plugin()
    return agent.clone(tools=[plugin.guarded_tool(tool, agent.name) for tool in agent.tools])


def instrument() -> None:
    import agents.tool
    from agents.agent import AgentBase
    from agents.run import AgentRunner
    from agents.run_internal import run_loop, tool_execution

    plugin = _Plugin()
    noting = "maybe_invoke_function_tool_failure_error_function"
    for module, name in ((run_loop, "get_model"), (agents.tool, noting), (tool_execution, noting)):
        if not hasattr(module, name):
            raise MissingSeam(f"{module.__name__}.{name}")
    _patches.add(AgentBase, "get_all_tools", plugin.get_all_tools)
    _patches.add(run_loop, "get_model", plugin.get_model)
    _patches.add(agents.tool, noting, plugin.noting_errors)
    _patches.add(tool_execution, noting, plugin.noting_errors)
    _patches.add(AgentRunner, "run", plugin.run)
    _patches.add(AgentRunner, "run_sync", plugin.run_sync)
    _patches.add(AgentRunner, "run_streamed", plugin.run_streamed)


def uninstrument() -> None:
    _patches.undo()


def instrument_openai_agents() -> None:
    """Instruments OpenAI Agents, if `init` was called with `integrations=[]`."""
    registry.instrument_one("openai_agents")


def uninstrument_openai_agents() -> None:
    registry.uninstrument_one("openai_agents")


def _read(given: str) -> dict[str, Any]:
    """The model's arguments; anything but an object is sent as `input`."""
    try:
        found = json.loads(given) if given else {}
    except ValueError:
        return {"input": given}
    return found if isinstance(found, dict) else {"input": found}


def _item(item: Any) -> dict[str, Any]:
    message = item if isinstance(item, dict) else {"content": str(item)}
    role = message.get("role") or ("tool" if "output" in message else "assistant")
    content = message.get("content", message.get("output", message.get("name")))
    return {"role": role, "content": content}


def _answer(response: Any) -> ModelAnswer:
    return ModelAnswer(text=_text(response.output), usage=_usage(response))


def _streamed_answer(events: list[Any]) -> ModelAnswer:
    for event in reversed(events):
        response = getattr(event, "response", None)
        if getattr(event, "type", "") == "response.completed" and response is not None:
            return ModelAnswer(text=_text(response.output), usage=_usage(response), model=response.model)
    return ModelAnswer()


def _usage(response: Any) -> Usage | None:
    """Of a response of the framework and of the provider, whose names are the same."""
    usage = with_searches(read_usage(response.usage), response.output)
    tier = getattr(response, "service_tier", None)
    return usage if usage is None or not isinstance(tier, str) else replace(usage, service_tier=tier)


def _text(output: Any) -> str | None:
    parts = [part for item in output for part in getattr(item, "content", None) or ()]
    return "".join(str(getattr(part, "text", "")) for part in parts) or None
