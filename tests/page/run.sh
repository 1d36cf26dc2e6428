#!/usr/bin/env bash
# The page in a real browser, before a scripted backend: a turn appears while it streams, three columns, why, a fixture that
# `toolglot check` replays, markup that stays text, keyboard, both themes.
# usage: tests/page/run.sh [path of the binary]      needs Node 20 or newer, npm, and a Chromium (CHROMIUM names another one);
#        SCREENSHOTS=FOLDER keeps pictures
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export TOOLGLOT=$(realpath "${1:-$here/../../target/debug/toolglot}")
cd "$here"
skip() {
    printf '\n######## NOT CHECKED: the page in a browser\n######## %s\n\n' "$1" >&2
    exit 0
}
browser() { command -v "${CHROMIUM:-chromium}" || command -v chromium-browser || command -v google-chrome; }
if ! browser > /dev/null && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    { timeout 300 apt-get -q update && timeout 600 apt-get -q install -y --no-install-recommends chromium; } > /dev/null 2>&1 || true
fi
browser > /dev/null || skip "there is no Chromium, and none could be installed"
npm_config_update_notifier=false npm ci --silent --no-audit --no-fund || skip "playwright-core cannot be installed"
CHROMIUM=$(browser)
export CHROMIUM
exec timeout 240 node --test --test-reporter=spec page.test.mjs
