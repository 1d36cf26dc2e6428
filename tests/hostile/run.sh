#!/usr/bin/env bash
# What a daemon must withstand: a backend that fails in every way, sockets and signals, and a soak. stalls.py, which measures how
# long one hostile request stalls the others, is run by hand: not all of its rows reach their goal yet.
# Needs Linux and Python 3, nothing else.
# usage: tests/hostile/run.sh [BINARY [SECONDS OF THE SOAK]]
set -euo pipefail
binary=$(realpath "${1:-target/debug/toolglot}")
seconds=${2:-75}
cd "$(dirname "$0")"
export PYTHONDONTWRITEBYTECODE=1
python3 sockets.py "$binary"
python3 faults.py "$binary"
python3 soak.py "$binary" "$seconds"
