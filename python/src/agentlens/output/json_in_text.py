"""Candidates for JSON in a model's answer, most likely first."""

from __future__ import annotations

import re
from dataclasses import dataclass

FENCE = "```"
MAX_CANDIDATES = 20


@dataclass(frozen=True)
class _Block:
    text: str
    json: bool


def json_candidates(text: str) -> list[str]:
    """
    The whole answer, fenced blocks (those marked `json` first), and the first object or list in running text. Reads
    the text once per kind, so the cost is linear even for hostile text.
    """
    whole = text.strip()
    blocks = _fenced_blocks(text)
    found = [whole] if whole and not whole.startswith(FENCE) else []
    found += [block.text for block in blocks if block.json]
    found += [block.text for block in blocks if not block.json]
    inline = _first_structure(whole)
    if inline is not None and inline != whole:
        found.append(inline)
    return found[:MAX_CANDIDATES]


def _fenced_blocks(text: str) -> list[_Block]:
    """A fence inside a JSON string does not start its line; an unclosed last block counts as truncated."""
    blocks: list[_Block] = []
    language: str | None = None
    lines: list[str] = []
    for line in re.split(r"\r\n|\n|\r", text):
        mark = line.lstrip()
        if language is None:
            inline = _one_line_block(mark)
            if inline is not None:
                blocks.append(inline)
            elif mark.startswith(FENCE):
                language, lines = mark[len(FENCE) :].strip().lower(), []
        elif mark.startswith(FENCE):
            blocks.append(_Block("\n".join(lines).strip(), language.startswith("json")))
            language = None
        else:
            lines.append(line)
    if language is not None:
        blocks.append(_Block("\n".join(lines).strip(), language.startswith("json")))
    return [block for block in blocks if block.text]


def _one_line_block(line: str) -> _Block | None:
    if not line.startswith(FENCE):
        return None
    end = line.find(FENCE, len(FENCE))
    if end == -1:
        return None
    inside = line[len(FENCE) : end]
    named = re.match(r"[A-Za-z0-9]*", inside)
    language = named.group() if named else ""
    return _Block(inside[len(language) :].strip(), language.lower().startswith("json"))


def _first_structure(text: str) -> str | None:
    """From the first bracket to its closing bracket, reading strings as JSON does; to the end if it is not closed."""
    first = re.search(r"[\[{]", text)
    if first is None:
        return None
    depth = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{}]', text[first.start() :], re.DOTALL):
        mark = token.group()
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
            if depth == 0:
                return text[first.start() : first.start() + token.end()]
    return text[first.start() :]
