#!/bin/sh
# Upgrades a running Compose deployment without an interruption of the services: builds, migrates, starts a new container of
# each service beside the old one, and stops the old one when the new one is healthy. Servers whose settings or images have
# changed, and the edge, restart: seconds each, one after the other. Run it in the folder of docker-compose.yml:
#   git pull && sh deploy/compose/upgrade.sh
# The command in .env.example makes secrets that are new; run it first. --recreate also replaces what has not changed.
set -eu
compose=${COMPOSE:-docker compose}
docker=${DOCKER:-docker}
recreate=
[ "${1:-}" != --recreate ] || recreate=--force-recreate
# How long the edge uses an address that it has looked up (deploy/edge/nginx.conf.template), and a second.
LOOKUP_SECONDS=6
# Longer than the health check of a service needs.
WAIT_SECONDS=180

say() { printf '%s  %s\n' "$(date +%T)" "$*"; }

say 'building'
$compose build

for server in postgres nats redis; do
  say "$server: up to date"
  # shellcheck disable=SC2086 # several words, or none
  $compose up --no-build --detach --no-deps --wait --wait-timeout "$WAIT_SECONDS" $recreate "$server"
done

say 'migrating'
$compose up --no-build --no-deps --force-recreate --exit-code-from migrate migrate

# From those that only read to those that answer agents, so that an order is understood before it is sent.
for service in run-tracking guardrail-evaluator action-dispatcher backtester query model-gateway ingest; do
  old=$($compose ps --quiet "$service")
  count=$(printf '%s\n' "$old" | grep -c . || true)
  if [ "$count" -eq 0 ]; then
    say "$service: starting"
    $compose up --no-build --detach --no-deps --wait --wait-timeout "$WAIT_SECONDS" "$service"
    continue
  fi
  say "$service: starting $count beside $count"
  $compose up --no-build --detach --no-deps --no-recreate --wait --wait-timeout "$WAIT_SECONDS" --scale "$service=$((count * 2))" "$service"
  sleep "$LOOKUP_SECONDS"
  say "$service: stopping the old one"
  for container in $old; do
    # Its own grace period: a service drains.
    $docker stop "$container" >/dev/null
    $docker rm "$container" >/dev/null
  done
done

say 'edge: up to date'
# shellcheck disable=SC2086
$compose up --no-build --detach --no-deps --wait --wait-timeout "$WAIT_SECONDS" $recreate edge
say 'done'
