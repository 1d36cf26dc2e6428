#!/usr/bin/env bash
# What a daemon must withstand: a backend that fails in every way, sockets and signals, single attacks, requests that could stall others, and a
# soak.
# Needs Linux and Python 3, nothing else.
# usage: tests/hostile/run.sh [BINARY [SECONDS OF THE SOAK]]
set -euo pipefail
binary=$(realpath "${1:-target/debug/toolglot}")
seconds=${2:-75}
cd "$(dirname "$0")"
export PYTHONDONTWRITEBYTECODE=1
python3 sockets.py "$binary"
python3 faults.py "$binary"
python3 attacks.py "$binary"
python3 stalls.py "$binary"
python3 soak.py "$binary" "$seconds"
