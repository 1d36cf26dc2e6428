"""The filled manifests of brew, scoop and winget hold what their indexes require, and no placeholder is left."""
import json, pathlib, re, sys

import yaml

folder, version = pathlib.Path(sys.argv[1]), sys.argv[2]
address = re.compile(r"https://github\.com/toolglot/toolglot/releases/download/v" + re.escape(version) + r"/toolglot-v" + re.escape(version) + r"-\S+\.(tar\.gz|zip)$")
checksum = re.compile(r"[0-9a-f]{64}$")
faults = []


def expect(true, what):
    if not true:
        faults.append(what)


for file in sorted(folder.rglob("*")):
    if file.is_file():
        expect("@" not in file.read_text().replace("any_of", ""), f"{file.name}: a placeholder is left")

scoop = json.loads((folder / "scoop/toolglot.json").read_text())
expect({"version", "description", "homepage", "license", "architecture", "bin"} <= scoop.keys(), "scoop: a required key is missing")
for name, build in scoop["architecture"].items():
    expect(name in ("64bit", "32bit", "arm64"), f"scoop: unknown architecture {name}")
    expect(address.match(build["url"]) and checksum.match(build["hash"]), f"scoop {name}: address or checksum")

winget = {file.stem.rsplit(".", 1)[-1]: yaml.safe_load(file.read_text()) for file in (folder / "winget").glob("*.yaml")}
kinds = {manifest["ManifestType"] for manifest in winget.values()}
expect(kinds == {"version", "defaultLocale", "installer"}, f"winget: manifests {kinds}")
for manifest in winget.values():
    expect(manifest["PackageIdentifier"] == "toolglot.toolglot" and manifest["PackageVersion"] == version, "winget: identifier or version")
    for build in manifest.get("Installers", []):
        expect(build["Architecture"] in ("x86", "x64", "arm", "arm64"), "winget: architecture")
        expect(address.match(build["InstallerUrl"]) and checksum.match(build["InstallerSha256"]), "winget: address or checksum")

brew = (folder / "brew/toolglot.rb").read_text()
urls, sums = re.findall(r'url "([^"]+)"', brew), re.findall(r'sha256 "([^"]+)"', brew)
expect(len(urls) == len(sums) == 4 and all(map(address.match, urls)) and all(map(checksum.match, sums)), "brew: addresses or checksums")

print("\n".join(faults) or "manifests as required")
sys.exit(bool(faults))
