#!/usr/bin/env python3
"""Fills the manifests of brew, scoop and winget with the version and the checksums of a release.

usage: manifests.py VERSION SHA256SUMS OUT
A template says @VERSION@, @BASE@ (the address of the release's files) and @SHA256:TARGET.EXTENSION@. An archive that
SHA256SUMS does not list is an error.
"""
import pathlib, re, sys

HERE = pathlib.Path(__file__).resolve().parent
TEMPLATES = ["brew/toolglot.rb", "scoop/toolglot.json", *sorted(str(p.relative_to(HERE)) for p in (HERE / "winget").glob("*.yaml"))]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    version, out = sys.argv[1], pathlib.Path(sys.argv[3])
    sums = dict(reversed(line.replace("*", "").split()) for line in pathlib.Path(sys.argv[2]).read_text().splitlines() if line.strip())
    base = f"https://github.com/toolglot/toolglot/releases/download/v{version}"

    def checksum(match):
        archive = f"toolglot-v{version}-{match[1]}"
        if archive not in sums:
            sys.exit(f"{sys.argv[2]} has no line for {archive}")
        return sums[archive]

    for template in TEMPLATES:
        text = (HERE / template).read_text(encoding="utf-8").replace("@VERSION@", version).replace("@BASE@", base)
        target = out / template
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(re.sub(r"@SHA256:([^@]+)@", checksum, text), encoding="utf-8")
        print(target)


if __name__ == "__main__":
    main()
