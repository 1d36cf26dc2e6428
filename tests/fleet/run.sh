#!/usr/bin/env bash
# Three toolglots on one Redis behind HAProxy, at most three minutes. Installs redis-server and haproxy of the distribution
# where they are missing and apt-get may be used; without them it checks nothing, and says so.
# usage: tests/fleet/run.sh [BINARY]
set -euo pipefail
binary=$(realpath "${1:-target/debug/toolglot}")
cd "$(dirname "$0")"
missing=()
for program in redis-server haproxy; do command -v "$program" > /dev/null || missing+=("$program"); done
if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    # Their services are not wanted, only the programs.
    export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
    { timeout 120 apt-get update && timeout 180 apt-get install -y --no-install-recommends "${missing[@]}"; } > /dev/null 2>&1 || true
fi
for program in redis-server haproxy redis-cli python3; do
    command -v "$program" > /dev/null || { printf '\n######## NOT CHECKED: a fleet\n######## %s is not installed\n\n' "$program" >&2; exit 0; }
done
export PYTHONDONTWRITEBYTECODE=1
exec timeout --kill-after=10 180 python3 fleet.py "$binary"
