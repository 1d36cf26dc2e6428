#!/usr/bin/env node
// Starts the binary of this platform's package, with the same arguments, streams and exit code.
const { spawn } = require("node:child_process");
const platform = `${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`@toolglot/${platform}/bin/toolglot${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`toolglot: there is no package for ${platform}, or it was not installed (npm install --include=optional toolglot)`);
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`toolglot: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else process.exit(code);
});
