// Packs built binaries as npm packages: `toolglot`, a launcher, and one package per platform that npm installs only where it fits.
//
// usage: node pack.mjs VERSION OUT PLATFORM=BINARY [PLATFORM=BINARY ...]
// PLATFORM is OS-CPU in npm's words, for example linux-x64, darwin-arm64 or win32-x64. Prints the path of each tarball, the
// launcher's last. No package has an install script.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [version, out, ...binaries] = process.argv.slice(2);
if (!version || !out || binaries.length === 0) {
  console.error("usage: node pack.mjs VERSION OUT PLATFORM=BINARY [PLATFORM=BINARY ...]");
  process.exit(2);
}
const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");
const shared = {
  version,
  description: "A local daemon that turns the tool calls of local models into the form that the client executes",
  license: "MIT OR Apache-2.0",
};

function pack(name, fields, files) {
  const folder = join(resolve(out), "packages", name.replace("/", "+"));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "bin"), { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, ...shared, ...fields }, null, 2) + "\n");
  for (const [source, target] of [...files, [join(root, "LICENSE-MIT"), "LICENSE-MIT"], [join(root, "LICENSE-APACHE"), "LICENSE-APACHE"]]) {
    copyFileSync(source, join(folder, target));
    if (target.startsWith("bin/")) chmodSync(join(folder, target), 0o755);
  }
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const tarball = execFileSync(npm, ["pack", "--silent", "--pack-destination", resolve(out)], { cwd: folder, encoding: "utf8" }).trim();
  console.log(join(resolve(out), tarball));
}

const platforms = {};
for (const argument of binaries) {
  const [platform, binary] = [argument.slice(0, argument.indexOf("=")), argument.slice(argument.indexOf("=") + 1)];
  const [os, cpu] = platform.split("-");
  const name = `@toolglot/${platform}`;
  pack(name, { os: [os], cpu: [cpu] }, [[binary, os === "win32" ? "bin/toolglot.exe" : "bin/toolglot"]]);
  platforms[name] = version;
}
pack(
  "toolglot",
  { bin: { toolglot: "bin/toolglot.js" }, engines: { node: ">=18" }, optionalDependencies: platforms },
  [[join(here, "launch.js"), "bin/toolglot.js"], [join(root, "README.md"), "README.md"]],
);
