"""
Writes src/generated/shipped-table.ts from the Python package genai-prices, whose table is newer than that of the
package for JavaScript:

    pip install genai-prices==<version> && python libs/prices/read-genai-prices.py <day of its release>

Prices that depend on more than model, time and tokens (`price_variants`) are left out: service tiers have their own
table, src/service-tiers.ts.
"""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import json
import pathlib
import sys
from decimal import Decimal
from typing import Any

from genai_prices.data import providers

KINDS = {"StartDateConstraint": "start_date", "TimeOfDateConstraint": "time_of_date"}


def plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, datetime.time):
        return value.replace(tzinfo=None).isoformat() + "Z"
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    name = type(value).__name__
    if name == "ModelPrice":
        return {key: plain(price) for key, price in vars(value).items() if price is not None}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        members = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        found = {key.rstrip("_"): plain(member) for key, member in members.items() if member is not None}
        return {**found, "type": KINDS[name]} if name in KINDS else found
    return value


def model(info: Any) -> dict[str, Any]:
    return {"id": info.id, "match": plain(info.match), "prices": plain(info.prices)}


def provider(info: Any) -> dict[str, Any]:
    kept = ("id", "name", "api_pattern", "model_match", "provider_match", "fallback_model_providers")
    found = {key: plain(getattr(info, key)) for key in kept if getattr(info, key) is not None}
    return {**found, "models": [model(item) for item in info.models]}


def main() -> None:
    (released,) = sys.argv[1:]
    version = importlib.metadata.version("genai-prices")
    text = json.dumps([provider(item) for item in providers], separators=(",", ":"), ensure_ascii=True)
    literal = json.dumps(text, ensure_ascii=True)
    out = pathlib.Path(__file__).parent / "src" / "generated" / "shipped-table.ts"
    out.parent.mkdir(exist_ok=True)
    out.write_text(
        "// Made by read-genai-prices.py from genai-prices (MIT license, Pydantic Services Inc.). Do not edit.\n"
        f"export const SHIPPED_TABLE = {{ version: '{version}', publishedAt: '{released}' }} as const;\n"
        f"export const SHIPPED_PROVIDERS = {literal};\n"
    )
    print(f"{version}: {len(providers)} providers, {len(text)} characters")


main()
