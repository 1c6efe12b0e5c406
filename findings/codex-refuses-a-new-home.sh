#!/usr/bin/env bash
# Versions: npm @openai/codex 0.171.0.
# Expected: with `CODEX_HOME` set to a folder that does not exist yet, Codex makes it, as it makes `~/.codex` on a new machine.
# Seen: every command ends with status 1 before it does anything. A container or a test that gives each run a home of its
#   own has to make the folder first. Without the variable, a home without `.codex` works.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > npm.log
npm install --silent --no-audit --no-fund @openai/codex@0.171.0
mkdir home
status() {
  local code=0
  "$@" > out.log 2>&1 || code=$?
  echo "$code"
}
made=$(HOME="$work/home" status npx codex mcp list)
missing=$(HOME="$work/home" CODEX_HOME="$work/new" status npx codex mcp list)
cat out.log
seen="without the variable $made, with it $missing"
echo "seen: $seen"
[ "$seen" = "without the variable 0, with it 1" ] && [ ! -d "$work/new" ]
