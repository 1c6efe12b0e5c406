"""
Semantic Kernel. Two filters for every kernel created while `init` is active: one for calls that the model chose, one
for calls of the program. Models are wrapped at each single call.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, ClassVar

from agentlens.calls import ModelAnswer, ModelCall, ToolCall, ours
from agentlens.decision import Decision
from agentlens.events import error_text
from agentlens.integrations import registry
from agentlens.integrations.base import BaseFrameworkPlugin, StackedModels
from agentlens.integrations.patching import Patches
from agentlens.model_responses import read_usage

_patches = Patches()
_models = StackedModels("semantic_kernel")
# A function's exception is turned into text between the two filters; the inner one stores it here for the outer.
_errors: ContextVar[list[BaseException] | None] = ContextVar("agentlens_semantic_kernel_errors", default=None)


class SemanticKernelPlugin(BaseFrameworkPlugin):
    framework_name: ClassVar[str] = "semantic_kernel"
    distribution: ClassVar[str | None] = "semantic-kernel"

    # -- filters ---------------------------------------------------------------------------------------------------

    def install(self, kernel: Any) -> Any:
        """The explicit form. A kernel that already has the filters, such as a clone, gets no second set."""
        from semantic_kernel.filters import FilterTypes

        if not any(
            getattr(item, "__name__", "") == "agentlens_function" for _, item in kernel.function_invocation_filters
        ):

            async def agentlens_auto(context: Any, next: Callable[[Any], Any]) -> None:
                await self.auto_function(context, next)

            async def agentlens_function(context: Any, next: Callable[[Any], Any]) -> None:
                await self.function(context, next)

            kernel.add_filter(FilterTypes.AUTO_FUNCTION_INVOCATION, agentlens_auto)
            kernel.add_filter(FilterTypes.FUNCTION_INVOCATION, agentlens_function)
        return kernel

    async def auto_function(self, context: Any, next: Callable[[Any], Any]) -> None:
        from semantic_kernel.functions import FunctionResult

        errors: list[BaseException] = []

        async def execute(decided: dict[str, Any]) -> Any:
            context.arguments.update(decided)
            token = _errors.set(errors)
            try:
                await next(context)
            finally:
                _errors.reset(token)
            return None if context.function_result is None else context.function_result.value

        def error_in(result: Any) -> str | None:
            return error_text(errors[-1]) if errors else None

        def refuse(decision: Decision) -> Any:
            # Without an explicit result the model would receive "None".
            context.function_result = FunctionResult(function=context.function.metadata, value=decision.refusal)
            context.terminate = context.terminate or decision.terminates

        call = replace(self._call(context, "semantic_kernel.auto"), error_in=error_in)
        await self.acall_tool(call, execute, refuse)

    async def function(self, context: Any, next: Callable[[Any], Any]) -> None:
        from semantic_kernel.functions import FunctionResult

        if context.function.is_prompt:
            await next(context)
            return

        async def execute(decided: dict[str, Any]) -> Any:
            context.arguments.update(decided)
            errors = _errors.get()
            try:
                await next(context)
            except Exception as error:
                if errors is not None:
                    errors.append(error)
                raise
            return None if context.result is None else context.result.value

        def refuse(decision: Decision) -> Any:
            context.result = FunctionResult(function=context.function.metadata, value=decision.refusal)

        await self.acall_tool(self._call(context, "semantic_kernel.function"), execute, refuse)

    def _call(self, context: Any, seam: str) -> ToolCall:
        function = context.function
        known = {parameter.name for parameter in function.parameters}
        asked = {key: value for key, value in (context.arguments or {}).items() if key in known}
        chosen = getattr(context, "function_call_content", None)
        return ToolCall(
            function.name,
            asked,
            seam,
            call_id=getattr(chosen, "id", None),
            tags=(function.plugin_name,) if function.plugin_name else (),
            source=self.source("function"),
        )

    # -- models ----------------------------------------------------------------------------------------------------

    def guard_models(self) -> None:
        """Every class of chat services that exists so far. The outer methods see one call for a whole loop."""
        from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase

        with ours("guarding models"):
            for service in _subclasses(ChatCompletionClientBase):
                if "_inner_get_chat_message_contents" in vars(service):
                    _patches.add(service, "_inner_get_chat_message_contents", self.inner)
                if "_inner_get_streaming_chat_message_contents" in vars(service):
                    _patches.add(service, "_inner_get_streaming_chat_message_contents", self.inner_stream)

    def inner(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(service: Any, chat_history: Any, settings: Any, *args: Any, **kwargs: Any) -> Any:
            if _models.inside:
                return await original(service, chat_history, settings, *args, **kwargs)
            call = self._model_call(service, chat_history)
            return await self.acall_model(
                call, lambda: _models.call(lambda: original(service, chat_history, settings, *args, **kwargs)), _answer
            )

        return guarded

    def inner_stream(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(service: Any, chat_history: Any, settings: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            if _models.inside:
                return original(service, chat_history, settings, *args, **kwargs)
            call = self._model_call(service, chat_history)
            return self.stream_model(
                call,
                lambda: _models.stream(lambda: original(service, chat_history, settings, *args, **kwargs)),
                _streamed_answer,
            )

        return guarded

    def _model_call(self, service: Any, chat_history: Any) -> ModelCall:
        messages = [{"role": str(item.role.value), "content": _content_of(item)} for item in chat_history.messages]
        return ModelCall(messages, service.ai_model_id, None, self.source("chat"))

    # -- runs ------------------------------------------------------------------------------------------------------

    def root(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(owner: Any, *args: Any, **kwargs: Any) -> Any:
            self.guard_models()
            async with self.aroot_run(_name(owner)):
                return await original(owner, *args, **kwargs)

        return guarded

    def root_stream(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(owner: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            self.guard_models()
            return self.stream_run(lambda: original(owner, *args, **kwargs), _name(owner))

        return guarded


def instrument() -> None:
    from semantic_kernel import Kernel
    from semantic_kernel.agents import ChatCompletionAgent
    from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase

    plugin = SemanticKernelPlugin()

    def made(original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(kernel: Any, *args: Any, **kwargs: Any) -> None:
            original(kernel, *args, **kwargs)
            with ours("adding filters to a kernel"):
                plugin.install(kernel)

        return guarded

    _patches.add(Kernel, "__init__", made)
    _patches.add(Kernel, "invoke", plugin.root)
    _patches.add(Kernel, "invoke_prompt", plugin.root)
    _patches.add(ChatCompletionAgent, "get_response", plugin.root)
    _patches.add(ChatCompletionAgent, "invoke", plugin.root_stream)
    _patches.add(ChatCompletionAgent, "invoke_stream", plugin.root_stream)
    _patches.add(ChatCompletionClientBase, "get_chat_message_contents", plugin.root)
    _patches.add(ChatCompletionClientBase, "get_streaming_chat_message_contents", plugin.root_stream)
    plugin.guard_models()


def uninstrument() -> None:
    _patches.undo()


def instrument_semantic_kernel() -> None:
    """Instruments Semantic Kernel, if `init` was called with `integrations=[]`."""
    registry.instrument_one("semantic_kernel")


def uninstrument_semantic_kernel() -> None:
    registry.uninstrument_one("semantic_kernel")


def _name(owner: Any) -> str | None:
    name = getattr(owner, "name", None)
    return name if isinstance(name, str) else None


def _subclasses(kind: Any) -> Iterator[Any]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def _content_of(message: Any) -> Any:
    results = [str(item.result) for item in message.items if hasattr(item, "result")]
    return results or message.content


def _answer(messages: Any) -> ModelAnswer:
    message = messages[0]
    usage = message.metadata.get("usage")
    reason = getattr(message, "finish_reason", None)
    return ModelAnswer(
        text=message.content or None,
        usage=read_usage(usage),
        model=message.ai_model_id,
        finish_reason=None if reason is None else str(getattr(reason, "value", reason)),
    )


def _streamed_answer(batches: list[Any]) -> ModelAnswer:
    chunks = [chunk for batch in batches for chunk in batch]
    usage = next((item for chunk in reversed(chunks) if (item := chunk.metadata.get("usage")) is not None), None)
    return ModelAnswer(
        text="".join(chunk.content or "" for chunk in chunks) or None,
        usage=read_usage(usage),
    )
