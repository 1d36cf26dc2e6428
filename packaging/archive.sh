#!/usr/bin/env bash
# Packs a built binary as a release archive: toolglot-vVERSION-TARGET.tar.gz, or .zip for Windows.
# usage: packaging/archive.sh BINARY VERSION TARGET OUT
set -euo pipefail
binary=$1 version=$2 target=$3
mkdir -p "$4"
out=$(cd "$4" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
name=toolglot-v$version-$target
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/$name"
cp "$binary" "$root/README.md" "$root/CHANGELOG.md" "$root/LICENSE-MIT" "$root/LICENSE-APACHE" "$root/proxy.toml" "$work/$name/"
case $target in
  *windows*) (cd "$work" && 7z a -tzip -bso0 "$out/$name.zip" "$name") && echo "$out/$name.zip" ;;
  *) tar -C "$work" -czf "$out/$name.tar.gz" "$name" && echo "$out/$name.tar.gz" ;;
esac
