#!/bin/sh
# Installs toolglot for the current user, without administrator rights: the release archive of this platform, its checksum verified.
#
# usage: install.sh [--version X.Y.Z] [--to FOLDER]      installs or updates (default: the newest release, ~/.local/bin)
#        install.sh --uninstall [--to FOLDER]             removes the binary
# TOOLGLOT_RELEASES names another place with the same files, for example a mirror:
#   $TOOLGLOT_RELEASES/latest (one line: X.Y.Z), $TOOLGLOT_RELEASES/vX.Y.Z/toolglot-vX.Y.Z-TARGET.tar.gz and SHA256SUMS
set -eu

home_of_releases=https://github.com/toolglot/toolglot/releases

fail() { printf 'toolglot: %s\n' "$1" >&2; exit 1; }

fetch() { # fetch URL FILE
  if command -v curl >/dev/null 2>&1; then curl -fsSL --retry 2 -o "$2" "$1"
  elif command -v wget >/dev/null 2>&1; then wget -q -O "$2" "$1"
  else fail 'curl or wget is needed to download the release'; fi
}

newest() { # the version of the newest release
  if [ -n "${TOOLGLOT_RELEASES:-}" ]; then
    fetch "$TOOLGLOT_RELEASES/latest" "$work/latest" || fail "cannot read $TOOLGLOT_RELEASES/latest"
    cat "$work/latest"
  else
    # GitHub redirects /latest/download/FILE to the newest release.
    fetch "$home_of_releases/latest/download/VERSION" "$work/latest" || fail "cannot read the newest version from $home_of_releases"
    cat "$work/latest"
  fi
}

target() { # the triple of the archive for this machine
  case "$(uname -s)" in
    Linux) system=unknown-linux-gnu ;;
    Darwin) system=apple-darwin ;;
    *) fail "there is no release for $(uname -s); on Windows use install.ps1" ;;
  esac
  case "$(uname -m)" in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no release for $(uname -m); build it with: cargo install toolglot" ;;
  esac
  # musl systems (Alpine) take the static build.
  if [ "$system" = unknown-linux-gnu ] && ! ldd --version 2>&1 | grep -qiE 'glibc|gnu libc'; then system=unknown-linux-musl; fi
  printf '%s-%s' "$machine" "$system"
}

checksum() { # checksum FILE
  if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null 2>&1; then shasum -a 256 "$1" | cut -d ' ' -f 1
  else fail 'sha256sum or shasum is needed to verify the download'; fi
}

version='' folder=${HOME:?}/.local/bin action=install
while [ $# -gt 0 ]; do
  case $1 in
    --version) [ $# -ge 2 ] || fail '--version needs a value'; version=${2#v}; shift 2 ;;
    --to) [ $# -ge 2 ] || fail '--to needs a folder'; folder=$2; shift 2 ;;
    --uninstall) action=uninstall; shift ;;
    -h | --help) sed -n '2,7p' "$0" | sed 's/^# \{0,1\}//'; exit 0 ;;
    *) fail "unknown option $1 (--version, --to, --uninstall)" ;;
  esac
done

if [ "$action" = uninstall ]; then
  [ -e "$folder/toolglot" ] || fail "there is no $folder/toolglot"
  rm -f "$folder/toolglot"
  printf 'removed %s/toolglot\nSettings and data remain; "toolglot purge", before this, removes them.\n' "$folder"
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
[ -n "$version" ] || version=$(newest)
case $version in *[!0-9A-Za-z.+-]* | '') fail "this is not a version: $version" ;; esac
name=toolglot-v$version-$(target)
base=${TOOLGLOT_RELEASES:-$home_of_releases/download}/v$version
fetch "$base/$name.tar.gz" "$work/$name.tar.gz" || fail "cannot download $base/$name.tar.gz"
fetch "$base/SHA256SUMS" "$work/SHA256SUMS" || fail "cannot download $base/SHA256SUMS"
wanted=$(awk -v file="$name.tar.gz" '{ sub(/^\*/, "", $2) } $2 == file { print $1 }' "$work/SHA256SUMS")
[ -n "$wanted" ] || fail "SHA256SUMS has no line for $name.tar.gz"
found=$(checksum "$work/$name.tar.gz")
[ "$wanted" = "$found" ] || fail "the checksum of $name.tar.gz is $found, expected $wanted: nothing was installed"
tar -xzf "$work/$name.tar.gz" -C "$work"
mkdir -p "$folder"
# A rename replaces a running binary safely; writing into it would fail.
cp "$work/$name/toolglot" "$folder/.toolglot.new"
chmod 755 "$folder/.toolglot.new"
mv -f "$folder/.toolglot.new" "$folder/toolglot"
printf 'installed %s (%s)\n' "$folder/toolglot" "$("$folder/toolglot" --version)"
case :$PATH: in
  *:"$folder":*) printf 'start it with: toolglot serve\n' ;;
  *) printf '%s is not in your PATH; start it with: %s/toolglot serve\n' "$folder" "$folder" ;;
esac
