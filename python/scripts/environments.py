"""
The two environments the tests of this package run in: `a` and `b`, each with frameworks that do not hold each other
back, from pinned versions (python/environments). They are kept in the user's cache folder and made again when what
they are made of changes. Prints the path of each one's Python. `--existing`: makes none, fails where one is not there.

    python3 python/scripts/environments.py [--existing] a b

A path to a file of pinned versions instead of a name makes the environment of another folder's tools.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
OLDEST, NEWEST = (3, 11), (3, 13)
# pip needs minutes for what this needs seconds for.
UV = "uv==0.13.9"


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "agentlens" / "python-tests"


def python_of(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def label(pins: Path) -> str:
    return pins.stem if pins.parent == HERE / "environments" else f"{pins.resolve().parents[1].name}-{pins.stem}"


def ensure(name: str, *, existing: bool) -> Path | None:
    """The Python of an environment; None where it is not there and none is to be made."""
    pins = Path(name) if name.endswith(".txt") else HERE / "environments" / f"{name}.txt"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    stamp = hashlib.sha256(pins.read_bytes() + version.encode() + sys.prefix.encode()).hexdigest()
    environment = cache_folder() / f"{label(pins)}-{version}"
    python = python_of(environment)
    kept = environment / "stamp"
    if kept.exists() and kept.read_text() == stamp and python.exists():
        return python
    if existing:
        return None
    print(f"agentlens: making the Python environment {name} in {environment} (about a minute)", file=sys.stderr)
    shutil.rmtree(environment, ignore_errors=True)
    venv.create(environment, with_pip=True)
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", UV])
    # Everything is pinned, so nothing has to be resolved.
    run([python, "-m", "uv", "pip", "install", "--quiet", "--no-deps", "--python", str(python), "-r", str(pins)])
    kept.write_text(stamp)
    return python


def run(command: list[str | Path]) -> None:
    subprocess.run(command, check=True, stdout=sys.stderr)


def main(names: list[str]) -> int:
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        wanted = f"{'.'.join(map(str, OLDEST))} to {'.'.join(map(str, NEWEST))}"
        print(f"agentlens: the frameworks need Python {wanted}; this is {sys.version.split()[0]}", file=sys.stderr)
        return 2
    existing = "--existing" in names
    pythons = [ensure(name, existing=existing) for name in names if name != "--existing"]
    if None in pythons:
        print("agentlens: the Python environment is not made yet; `npm test` makes it", file=sys.stderr)
        return 3
    print(*pythons, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
