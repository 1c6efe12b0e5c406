"""Replaces a method of a framework and restores it."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

logger = logging.getLogger("agentlens")


class MissingSeam(Exception):
    """The framework version lacks the extension point that an adapter needs."""


class Patch:
    """
    `wrapper(original)` creates the replacement of `owner.name`. Applying it is idempotent. If other code has patched
    above it, it stays in place and only forwards.
    """

    def __init__(self, owner: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self._owner = owner
        self._name = name
        self._wrapper = wrapper
        self._had_own = name in vars(owner)
        self._original: Any = None
        self._placed: Any = None
        self._active = False

    def is_of(self, owner: Any, name: str) -> bool:
        return self._owner is owner and self._name == name

    def apply(self) -> Patch:
        if self._placed is not None:
            self._active = True
            return self
        # The raw descriptor, so that a static or class method is restored as one.
        original = vars(self._owner).get(self._name, getattr(self._owner, self._name, None))
        if original is None:
            raise MissingSeam(f"{getattr(self._owner, '__name__', self._owner)}.{self._name}")
        function = original.__func__ if isinstance(original, staticmethod | classmethod) else original
        guarded = self._wrapper(function)

        @functools.wraps(function)
        def placed(*args: Any, **kwargs: Any) -> Any:
            return (guarded if self._active else function)(*args, **kwargs)

        self._original, self._placed, self._active = original, placed, True
        setattr(self._owner, self._name, type(original)(placed) if function is not original else placed)
        return self

    def undo(self) -> None:
        self._active = False
        if self._placed is None:
            return
        now = vars(self._owner).get(self._name)
        if getattr(now, "__func__", now) is not self._placed:
            logger.debug(
                "AgentLens: %s.%s was patched by other code since; the patch only forwards now", self._owner, self._name
            )
            return
        if self._had_own:
            setattr(self._owner, self._name, self._original)
        else:
            delattr(self._owner, self._name)
        self._placed = None


class Patches:
    """The patches of one adapter: all or none."""

    def __init__(self) -> None:
        self._patches: list[Patch] = []

    def add(self, owner: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        for known in self._patches:
            if known.is_of(owner, name):
                known.apply()
                return
        self._patches.append(Patch(owner, name, wrapper).apply())

    def undo(self) -> None:
        for patch in reversed(self._patches):
            patch.undo()
        self._patches.clear()
