"""Every example, as a program of its own, with nothing but the address and the key in its environment."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import BLOCKED
from support.platform import Platform

ROOT = Path(__file__).resolve().parents[2]
# An example, and the module of its framework.
EXAMPLES = {
    "guarded_tool": "agentlens",
    "langchain_agent": "langchain",
    "pydantic_ai_agent": "pydantic_ai",
    "openai_agents_agent": "agents",
    "agent_framework_agent": "agent_framework",
    "ag2_agent": "ag2",
    "autogen_classic_agent": "autogen",
    "agentchat_agent": "autogen_agentchat",
    "crewai_agent": "crewai",
    "semantic_kernel_agent": "semantic_kernel",
}
HERE = [name for name, module in EXAMPLES.items() if importlib.util.find_spec(module) is not None]


@pytest.mark.parametrize("example", HERE)
def test_an_example_is_blocked_and_told_why(platform: Platform, example: str) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("AGENTLENS_")}
    env = {
        **clean,
        "PYTHONPATH": str(ROOT / "src"),
        "AGENTLENS_SERVER_URL": platform.url,
        "AGENTLENS_API_KEY": platform.agent_key,
        "AGENTLENS_FAIL_MODE": "closed",
        # The machine of a test may be busy; what is tested here is not its speed.
        "AGENTLENS_DEADLINE_MS": "10000",
        "CREWAI_TRACING_ENABLED": "false",
        "OTEL_SDK_DISABLED": "true",
    }
    program = ROOT / "examples" / f"{example}.py"
    done = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "the tool look runs" in done.stdout
    assert "the tool remove runs" not in done.stdout
    assert BLOCKED in done.stdout
    assert "one." in done.stdout.lower() or example == "guarded_tool"


def test_every_example_is_listed() -> None:
    assert {path.stem for path in (ROOT / "examples").glob("[!_]*.py")} == set(EXAMPLES)
