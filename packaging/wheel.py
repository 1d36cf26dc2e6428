#!/usr/bin/env python3
"""Packs a built toolglot binary as a PyPI wheel, so that `uvx toolglot` and `pipx install toolglot` need no compiler.

usage: wheel.py BINARY VERSION PLATFORM OUT
PLATFORM is the wheel's platform tag, for example manylinux_2_17_x86_64, macosx_11_0_arm64 or win_amd64; linux_x86_64 for a
binary that was built on this machine only. Prints the path of the wheel. Format: the binary distribution format specification
of the Python Packaging Authority; the binary is a script of the wheel, which installers place in PATH.
"""
import base64, hashlib, pathlib, sys, zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    binary, version, platform, out = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
    info = f"toolglot-{version}.dist-info"
    command = "toolglot.exe" if platform.startswith("win") else "toolglot"
    metadata = "\n".join([
        "Metadata-Version: 2.1",
        "Name: toolglot",
        f"Version: {version}",
        "Summary: A local daemon that turns the tool calls of local models into the form that the client executes",
        "License: MIT OR Apache-2.0",
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
        "",
        (ROOT / "README.md").read_text(encoding="utf-8"),
    ])
    files = [
        (f"toolglot-{version}.data/scripts/{command}", binary.read_bytes(), 0o755),
        (f"{info}/METADATA", metadata.encode(), 0o644),
        (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: toolglot\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n".encode(), 0o644),
        (f"{info}/licenses/LICENSE-MIT", (ROOT / "LICENSE-MIT").read_bytes(), 0o644),
        (f"{info}/licenses/LICENSE-APACHE", (ROOT / "LICENSE-APACHE").read_bytes(), 0o644),
    ]
    record = f"{info}/RECORD"
    rows = [f"{name},sha256={digest(data)},{len(data)}" for name, data, _ in files] + [f"{record},,"]
    files.append((record, ("\n".join(rows) + "\n").encode(), 0o644))
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"toolglot-{version}-py3-none-{platform}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data, mode in files:
            # A fixed date: the same binary gives the same wheel.
            entry = zipfile.ZipInfo(name, date_time=(2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    print(wheel)


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main()
