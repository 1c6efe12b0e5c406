"""What is Semantic Kernel's alone."""

from __future__ import annotations

import pytest
from semantic_kernel import Kernel
from semantic_kernel.functions import kernel_function

import agentlens
from agentlens.compat.integrations.semantic_kernel import AgentLensSKHandler, init
from agentlens.testing import TestServer, block


@pytest.fixture
def server() -> TestServer:
    server = TestServer().rule(block("No."), tools=["remove"])
    server.client()
    return server


def kernel_with_a_tool(ran: list[str]) -> Kernel:
    def remove(path: str) -> str:
        ran.append(path)
        return "removed"

    kernel = Kernel()
    kernel.add_functions("tools", [kernel_function(remove, name="remove")])
    return kernel


async def test_the_filter_of_the_originals_handler_guards(server: TestServer) -> None:
    ran: list[str] = []
    kernel = kernel_with_a_tool(ran)
    kernel.add_filter("function_invocation", AgentLensSKHandler("kernel").filter)
    result = await kernel.invoke(plugin_name="tools", function_name="remove", path="/tea")
    assert (ran, str(result)) == ([], "No.")


async def test_a_call_of_the_program_is_asked_about_once_also_in_a_clone(server: TestServer) -> None:
    ran: list[str] = []
    kernel = kernel_with_a_tool(ran)
    init(kernel)
    clone = kernel.clone()
    init(clone)
    result = await clone.invoke(plugin_name="tools", function_name="remove", path="/tea")
    assert (ran, str(result)) == ([], "No.")
    assert len(server.asked()) == 1


async def test_undone_it_guards_no_more(server: TestServer) -> None:
    ran: list[str] = []
    kernel = kernel_with_a_tool(ran)
    init(kernel)
    agentlens.shutdown()
    await kernel.invoke(plugin_name="tools", function_name="remove", path="/tea")
    assert ran == ["/tea"]
