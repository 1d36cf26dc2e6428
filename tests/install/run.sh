#!/usr/bin/env bash
# Packs a binary in each way that a user can install it, installs it into empty folders, and goes the way of a new user from there
# to the first executed edit (first_edit.py): with an empty home, and nothing of Rust in the PATH.
# usage: tests/install/run.sh target/debug/toolglot       needs python3 and npm
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/tests/install
for program in python3 npm curl; do
  command -v "$program" >/dev/null || { echo "tests/install: $program is not installed" >&2; exit 1; }
done
binary=$(realpath "${1:-target/debug/toolglot}")
work=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
export HOME=$work/home XDG_CONFIG_HOME='' XDG_DATA_HOME=''
mkdir -p "$HOME"
passed=0 failed=0
check() { # check NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$work/output" 2>&1; then
    passed=$((passed + 1)); echo "ok      $name"
  else
    failed=$((failed + 1)); echo "FAILED  $name"; sed 's/^/        /' "$work/output"
  fi
}

version=$("$binary" --version | awk '{ print $2 }')
# Symbols are most of a debug binary; what is tested is the packing.
cp "$binary" "$work/toolglot" && strip "$work/toolglot" 2>/dev/null || true
binary=$work/toolglot
port=18700

# What a user's machine has: the system's programs, and node for the npm package.
plain_path=/usr/bin:/bin:$(dirname "$(command -v node)")
if env -i PATH="$plain_path" sh -c 'command -v cargo' >/dev/null; then echo "tests/install: cargo is beside the system's programs" >&2; exit 1; fi

works() { # works COMMAND: the installed command reports its version, and leads to an executed edit
  local command=$1 fresh
  [ "$("$command" --version | awk '{ print $2 }')" = "$version" ] || { echo "another version: $("$command" --version)"; return 1; }
  port=$((port + 2)) fresh=$(mktemp -d "$work/fresh.XXXX")
  env -i HOME="$fresh" PATH="$plain_path" OLLAMA_HOST="127.0.0.1:$((port + 1))" \
    python3 "$here/first_edit.py" "$command" "$port" "$((port + 1))" "$fresh"
}

# PyPI
wheel_installs() {
  python3 packaging/wheel.py "$binary" "$version" linux_x86_64 "$work/dist" &&
    python3 -m venv "$work/venv" &&
    "$work/venv/bin/pip" install -q --no-index --disable-pip-version-check "$work"/dist/*.whl &&
    works "$work/venv/bin/toolglot" &&
    "$work/venv/bin/pip" uninstall -q -y toolglot &&
    [ ! -e "$work/venv/bin/toolglot" ]
}
check 'wheel: pip install into an empty environment, first edit, uninstall' wheel_installs

# npm
npm_installs() {
  local platform
  platform=$(node -p '`${process.platform}-${process.arch}`')
  export npm_config_cache=$work/npm-cache npm_config_update_notifier=false
  node packaging/npm/pack.mjs "$version" "$work/npm" "$platform=$binary" >"$work/tarballs" &&
    mkdir -p "$work/prefix" && xargs npm install -g --prefix "$work/prefix" --offline --no-audit --no-fund <"$work/tarballs" &&
    works "$work/prefix/bin/toolglot"
}
check 'npm: both packages into an empty prefix, first edit through the launcher' npm_installs

# install.sh, from a local server with a made-up release
system=$(uname -m)-unknown-linux-gnu
# No pipe: with pipefail, a grep that is done early would fail it.
grep -qiE 'glibc|gnu libc' <<<"$(ldd --version 2>&1 || true)" || system=$(uname -m)-unknown-linux-musl
releases=$work/releases
packaging/archive.sh "$binary" "$version" "$system" "$releases/v$version" >/dev/null
(cd "$releases/v$version" && sha256sum ./*.tar.gz | sed 's| \./| |' >SHA256SUMS)
echo "$version" >"$releases/latest"
python3 -m http.server 18799 --bind 127.0.0.1 --directory "$releases" >/dev/null 2>&1 &
servers+=($!)
for _ in $(seq 50); do curl -fs http://127.0.0.1:18799/latest >/dev/null && break; sleep 0.1; done
export TOOLGLOT_RELEASES=http://127.0.0.1:18799
says() { grep -qF -- "$1" "$work/said" || { echo "expected: $1"; cat "$work/said"; return 1; }; }
script_installs() {
  sh packaging/install.sh >"$work/said" && says "installed $HOME/.local/bin/toolglot" && works "$HOME/.local/bin/toolglot"
}
script_updates_and_removes() {
  sh packaging/install.sh --version "v$version" --to "$work/elsewhere" >"$work/said" &&
    sh packaging/install.sh --version "$version" --to "$work/elsewhere" >"$work/said" &&
    sh packaging/install.sh --uninstall --to "$work/elsewhere" >"$work/said" && [ ! -e "$work/elsewhere/toolglot" ]
}
script_refuses() { # a wrong checksum, an unknown version, a word that is no version
  local sums=$releases/v$version/SHA256SUMS
  cp "$sums" "$work/sums" && sed -i 's/^..../0000/' "$sums"
  ! sh packaging/install.sh --to "$work/none" 2>"$work/said" && says 'nothing was installed' && [ ! -e "$work/none/toolglot" ] || return 1
  cp "$work/sums" "$sums"
  ! sh packaging/install.sh --version 99.0.0 --to "$work/none" 2>"$work/said" && says 'cannot download' || return 1
  ! sh packaging/install.sh --version '../x' --to "$work/none" 2>"$work/said" && says 'not a version'
}
check 'install.sh: the newest release into ~/.local/bin, first edit' script_installs
check 'install.sh: a version, again over it, uninstall' script_updates_and_removes
check 'install.sh: a wrong checksum, an unknown version and a bad word install nothing' script_refuses
if command -v dash >/dev/null; then check 'install.sh: plain POSIX shell' dash -n packaging/install.sh; fi

# The image's entry point with its configuration; Docker itself is not run.
container_starts() {
  port=$((port + 2))
  HOME=$work/data TOOLGLOT_CONFIG=packaging/container.toml "$binary" serve --backend http://127.0.0.1:9 --listen "0.0.0.0:$port" 2>"$work/said" &
  servers+=($!)
  for _ in $(seq 50); do curl -fs "http://127.0.0.1:$port/v1/models" && return; sleep 0.1; done
  cat "$work/said"
  return 1
}
check 'container: its configuration and arguments serve' container_starts

# Manifests, the workflows and the site of the documentation
python3 -m venv "$work/checks"
"$work/checks/bin/pip" install -q --disable-pip-version-check -r tests/install/requirements.txt
python3 - "$version" >"$work/SHA256SUMS" <<'END'
import hashlib, sys
for target in ["x86_64-apple-darwin.tar.gz", "aarch64-apple-darwin.tar.gz", "x86_64-unknown-linux-musl.tar.gz", "aarch64-unknown-linux-musl.tar.gz",
               "x86_64-pc-windows-msvc.zip", "aarch64-pc-windows-msvc.zip"]:
    print(hashlib.sha256(target.encode()).hexdigest(), "", f"toolglot-v{sys.argv[1]}-{target}")
END
check 'manifests: filled from the checksums of a release' python3 packaging/manifests.py "$version" "$work/SHA256SUMS" "$work/manifests"
check 'manifests: what package indexes require' "$work/checks/bin/python" tests/install/manifests.py "$work/manifests" "$version"
fits() { "$work/checks/bin/check-jsonschema" --builtin-schema "vendor.$1" "${@:2}"; }
check 'workflows: the schema of GitHub workflows' fits github-workflows .github/workflows/*.yml
check 'issue templates: the schema of their forms' fits github-issue-forms .github/ISSUE_TEMPLATE/*.yml
check 'compose.yaml: the schema of Compose' fits compose-spec packaging/compose.yaml
book_builds() {
  "$work/checks/bin/mdbook" build --dest-dir "$work/book" && "$work/checks/bin/python" tests/install/book.py "$work/book"
}
check 'documentation: mdBook builds it, no link leads nowhere, and it can be searched' book_builds

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
