"""The callback handler: records, and ends a stopped run. It guards no tools, because callbacks come too late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from agentlens.calls import CallGuard, ModelCall, ours
from agentlens.context import current
from agentlens.errors import RunStopped, kind_of
from agentlens.events import error_text
from agentlens.integrations import registry
from agentlens.integrations.base import BaseFrameworkPlugin
from agentlens.integrations.langchain import reading
from agentlens.integrations.langchain.chains import Chain, chains

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler
else:
    try:
        from langchain_core.callbacks import BaseCallbackHandler
    except ImportError:  # the names of this module can be imported without the framework
        BaseCallbackHandler = object


class AgentLensCallbackHandler(BaseFrameworkPlugin, BaseCallbackHandler):
    """
    `init()` adds one to every callback manager; pass one in `callbacks=` if it was called with `integrations=[]`. A
    manager never gets a second one.
    """

    framework_name: ClassVar[str] = "langchain"
    distribution: ClassVar[str | None] = "langchain-core"
    # An exception only stops anything in the caller's own thread, before the model is called.
    raise_error = True
    run_inline = True

    def __init__(
        self, client: Any = None, agent_id: str | None = None, session_id: str | None = None, redact: bool = False
    ) -> None:
        BaseFrameworkPlugin.__init__(self, client, agent_id, session_id, redact)
        self.active = True

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        with ours("recording a chain"):
            instance = self.instance if self.active else None
            if instance is None:
                return
            name = str(kwargs.get("name") or (serialized or {}).get("name") or "chain")
            if parent_run_id is not None:
                run = chains.below(run_id, parent_run_id)
                if run is not None:
                    run.record("chain_start", {"name": name, "runId": str(run_id)}, source=self.source("chain"))
                return
            thread = (metadata or {}).get("thread_id")
            joined = current.get()
            if joined is not None and joined.belongs_to(instance) and not joined.ended:
                chains.open(run_id, Chain(joined))
                return
            thread = None if thread is None else str(thread)
            run = chains.resumed(thread) or instance.run(agent_id=self._agent_id or name)
            chains.open(run_id, Chain(run, owned=True, thread=thread))
            run.start()

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._chain_ended(run_id, None)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._chain_ended(run_id, error)

    def _chain_ended(self, run_id: UUID, error: BaseException | None) -> None:
        with ours("recording the end of a chain"):
            chain = chains.close(run_id)
            if chain is None:
                return
            if not chain.owned:
                data = {"runId": str(run_id), **({} if error is None else {"error": kind_of(error)})}
                chain.run.record("chain_end" if error is None else "chain_error", data, source=self.source("chain"))
            elif not chains.waits(chain):
                self.end_run(chain.run, error)

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: Sequence[Sequence[Any]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        history = [reading.message(message) for batch in messages for message in batch]
        self._model_starts(run_id, parent_run_id, history, metadata or {}, kwargs)

    def on_llm_start(
        self,
        serialized: Any,
        prompts: Sequence[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        history = [{"role": "user", "content": prompt} for prompt in prompts]
        self._model_starts(run_id, parent_run_id, history, metadata or {}, kwargs)

    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._model_ends(run_id, response, None)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._model_ends(run_id, None, error)

    def _model_starts(
        self,
        run_id: UUID,
        parent: UUID | None,
        messages: list[dict[str, Any]],
        told: Mapping[str, Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        """Raises only RunStopped."""
        instance = self.instance if self.active else None
        if instance is None:
            return
        run = chains.run_of(parent) or instance.active_run()
        params = kwargs.get("invocation_params") or {}
        model = told.get("ls_model_name") or params.get("model") or params.get("model_name")
        call = ModelCall(messages, model, told.get("ls_provider"), self.source("llm"))
        chains.model_began(run_id, run, CallGuard(instance).begin_model(call, run))

    def _model_ends(self, run_id: UUID, response: Any, error: BaseException | None) -> None:
        instance = self.instance
        found = chains.model_ended(run_id)
        if found is None or instance is None or isinstance(error, RunStopped):
            return
        run, call_id = found
        read = None if error is not None else lambda: reading.answer(response)
        CallGuard(instance).end_model(run, call_id, read, error)

    # `init` guards and records tools where they run. A handler with its own client only has callbacks.

    def on_tool_start(
        self,
        serialized: Any,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        with ours("recording a tool call"):
            instance = self.instance
            if instance is None or not self.active or self._client is None or registry.is_instrumented("langchain"):
                return
            name = str((serialized or {}).get("name") or kwargs.get("name") or "tool")
            run = chains.run_of(parent_run_id) or instance.active_run()
            arguments = inputs if isinstance(inputs, dict) else {"input": input_str}
            payload = {"toolName": name, "callId": str(run_id), "arguments": arguments}
            run.tell("tool_call", payload, source=self.source("tool"))
            chains.tool_began(run_id, run, name, instance.clock.elapsed_s())

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._tool_ended(run_id, output, None)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._tool_ended(run_id, None, error)

    def _tool_ended(self, run_id: UUID, output: Any, error: BaseException | None) -> None:
        with ours("recording the end of a tool call"):
            instance, found = self.instance, chains.tool_ended(run_id)
            if instance is None or found is None:
                return
            run, name, began_s = found
            duration_ms = max(0.0, (instance.clock.elapsed_s() - began_s) * 1000)
            payload = {"toolName": name, "callId": str(run_id), "durationMs": duration_ms}
            failure = reading.error_in(output) if error is None else error_text(error)
            if failure is not None:
                run.tell("tool_error", {**payload, "error": failure}, severity="error", source=self.source("tool"))
            else:
                result = getattr(output, "content", output)
                run.tell("tool_response", {**payload, "result": result}, source=self.source("tool"))

    def on_retriever_start(
        self, serialized: Any, query: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        if self.active:
            chains.below(run_id, parent_run_id, query)

    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **kwargs: Any) -> None:
        with ours("recording a retrieval"):
            chain = chains.close(run_id)
            if chain is not None and chain.query is not None:
                payload = {"query": chain.query, "resultCount": len(documents)}
                chain.run.tell("retrieval", payload, source=self.source("retriever"))

    def on_agent_action(self, action: Any, *, run_id: UUID, **kwargs: Any) -> None:
        with ours("recording an agent's action"):
            run = chains.run_of(run_id)
            if run is not None and self.active:
                run.record("agent_action", {"tool": str(action.tool)}, source=self.source("agent"))
