"""
Validates Kubernetes objects against the schemas of the versions given as arguments. Reads one JSON object with
`document` and `where` per line of standard input. Prints a line per problem; exits with 1 if there is one.
"""

from __future__ import annotations

import json
import sys

import kubernetes_validate


def problems(versions: list[str]) -> list[str]:
    found = []
    for line in sys.stdin:
        entry = json.loads(line)
        document = entry["document"]
        at = f"{entry['where']}: {document['kind']}/{document['metadata'].get('name')}"
        for version in versions:
            try:
                kubernetes_validate.validate(document, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                path = ".".join(str(part) for part in error.path)
                found.append(f"{at}: {path}: {error.message[:300]} (Kubernetes {version})")
            except kubernetes_validate.SchemaNotFoundError as error:
                found.append(f"{at}: {error.message}")
    return found


if __name__ == "__main__":
    if not set(sys.argv[1:]) <= set(v.rsplit(".", 1)[0] for v in kubernetes_validate.utils.all_versions()):
        sys.exit(f"no schemas for one of {sys.argv[1:]}")
    found = problems(sys.argv[1:])
    print("\n".join(found))
    sys.exit(1 if found else 0)
