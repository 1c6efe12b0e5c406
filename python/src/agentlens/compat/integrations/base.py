"""`BaseFrameworkPlugin` under the original package's name."""

from agentlens.integrations.base import BaseFrameworkPlugin

__all__ = ["BaseFrameworkPlugin"]
