"""Imports every module of the generated Python client, and makes with it what the others make."""

from __future__ import annotations

import importlib
import pkgutil
import sys


def main(folder: str, base_url: str, key: str) -> None:
    sys.path.insert(0, folder)
    package = importlib.import_module("agentlens_client")
    modules = [found.name for found in pkgutil.walk_packages(package.__path__, "agentlens_client.")]
    for name in modules:
        importlib.import_module(name)
    print(f"imported {len(modules)} modules of the Python client")

    from agentlens_client import AuthenticatedClient
    from agentlens_client.api.guardrails import create_rule, delete_rule, get_rule
    from agentlens_client.api.runs import list_runs
    from agentlens_client.models import CreateRuleBody

    client = AuthenticatedClient(base_url=base_url, token=key, raise_on_unexpected_status=True)
    draft = {
        "name": "Made by a generated client",
        "conditionType": "cost_limit",
        "conditionConfig": {"maxCostUsd": 5, "scope": "session"},
        "actionType": "pause_agent",
        "actionConfig": {},
    }
    made = create_rule.sync(client=client, body=CreateRuleBody.from_dict(draft))
    assert made is not None and made.name == draft["name"], made
    read = get_rule.sync(made.id, client=client)
    assert read is not None and read.id == made.id, read
    runs = list_runs.sync(client=client, limit=5)
    assert runs is not None and isinstance(runs.runs, list), runs
    assert delete_rule.sync_detailed(made.id, client=client).status_code == 200


main(*sys.argv[1:])
