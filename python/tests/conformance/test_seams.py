"""Places that frameworks do not promise to keep. When one moves, the test that fails says which."""

from __future__ import annotations

import importlib
import importlib.util

import pytest

SEAMS = [
    ("langchain_core", "tools.base", "BaseTool._filter_injected_args"),
    ("langchain_core", "tracers.context", "register_configure_hook"),
    ("agents", "tool", "maybe_invoke_function_tool_failure_error_function"),
    ("agents", "run_internal.tool_execution", "maybe_invoke_function_tool_failure_error_function"),
    ("agents", "run_internal.run_loop", "get_model"),
    ("agents", "agent", "AgentBase.get_all_tools"),
    ("agents", "run", "AgentRunner.run_streamed"),
    ("pydantic_ai", "capabilities", "AbstractCapability.wrap_tool_execute"),
    ("pydantic_ai", "exceptions", "ToolFailed"),
    ("agent_framework", "_types", "ResponseStream.with_pull_context_manager"),
    ("agent_framework", "", "MiddlewareTermination"),
    ("ag2", "", "Agent.insert_middleware"),
    ("autogen", "", "ConversableAgent.a_execute_function"),
    ("autogen", "", "OpenAIWrapper.create"),
    ("autogen_core", "tools._base", "BaseStreamTool.run_json_stream"),
    ("crewai", "hooks", "InterceptionPoint.PRE_MODEL_CALL"),
    ("crewai", "tools.structured_tool", "CrewStructuredTool.invoke"),
    (
        "semantic_kernel",
        "connectors.ai.chat_completion_client_base",
        "ChatCompletionClientBase._inner_get_chat_message_contents",
    ),
]
HERE = [seam for seam in SEAMS if importlib.util.find_spec(seam[0]) is not None]


@pytest.mark.parametrize(("package", "module", "path"), HERE, ids=[f"{p}.{m}.{n}" for p, m, n in HERE])
def test_a_private_place_is_where_it_was(package: str, module: str, path: str) -> None:
    found: object = importlib.import_module(f"{package}.{module}" if module else package)
    for name in path.split("."):
        assert hasattr(found, name), f"{path} is gone from {package}.{module}: {name}"
        found = getattr(found, name)
