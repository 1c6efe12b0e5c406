"""What a scenario is made of: the same tools and the same model for every framework."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class Use:
    """One call of the model's: tools are `look`, `remove`, `explode`, `pay`, `price`, `broken`."""

    tool: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Turn:
    """What the model says in one answer: some words, some calls, or an error."""

    text: str = ""
    uses: Sequence[Use] = ()
    error: bool = False


Script = Sequence[Turn]
DONE = "All done."


class ModelBroke(Exception):
    pass


class ToolBroke(Exception):
    pass


@dataclass
class World:
    """`done` are side effects, `shown` what the model was shown at each of its calls, as one text."""

    script: Script
    on_look: Callable[[], None] = lambda: None
    done: list[tuple[str, Any]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    error: BaseException | None = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def next_turn(self, shown: object) -> tuple[int, Turn]:
        """Of the fake model: its number and what it says. Raises ModelBroke where the script says so."""
        with self._lock:
            index = len(self.shown)
            self.shown.append(str(shown))
        turn = self.script[index] if index < len(self.script) else Turn(DONE)
        if turn.error:
            raise ModelBroke("the model is away")
        return index, turn

    def did(self, tool: str) -> list[Any]:
        return [value for name, value in self.done if name == tool]

    # The tools.

    def look(self, topic: str) -> str:
        """Looks something up."""
        self.done.append(("look", topic))
        self.on_look()
        return f"{topic} is fine"

    def remove(self, path: str) -> str:
        """Removes a file."""
        self.done.append(("remove", path))
        return f"removed {path}"

    def explode(self, what: str) -> str:
        """Explodes something."""
        self.done.append(("explode", what))
        return "boom"

    def pay(self, eur: int) -> str:
        """Pays an amount."""
        self.done.append(("pay", eur))
        return f"paid {eur}"

    def price(self, eur: int) -> str:
        """Sets a price."""
        self.done.append(("price", eur))
        return f"the price is {eur}"

    def broken(self, topic: str) -> str:
        """Always fails."""
        self.done.append(("broken", topic))
        raise ToolBroke("the tool is broken")

    def tools(self) -> list[Callable[..., str]]:
        return [self.look, self.remove, self.explode, self.pay, self.price, self.broken]


class Framework:
    """What most drivers have in common."""

    estimating: Sequence[str] = ()
    one_at_a_time: Sequence[str] = ()


class Driver(Protocol):
    """One framework. `play` runs the script to its end and puts what it raised into the world."""

    name: str
    integration: str
    source: str
    modes: Sequence[str]
    # Modes whose framework counts tokens by itself, and whose model makes one call in a turn.
    estimating: Sequence[str]
    one_at_a_time: Sequence[str]

    def play(self, world: World, mode: str) -> None: ...
    def originals(self) -> list[object]:
        """What `init` patches, as it is now."""
