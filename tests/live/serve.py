#!/usr/bin/env python3
"""llama.cpp's own server from the prebuilt package xllamacpp, on one GGUF file.

usage: serve.py MODEL.gguf PORT ALIAS [CONTEXT [TEMPLATE.jinja]]
Prints `ready` once it answers, and runs until it is ended.
"""

import pathlib
import signal
import sys

import xllamacpp

path, port, alias, context, *template = sys.argv[1:] + ["4096"] * (len(sys.argv) < 5)
settings = xllamacpp.CommonParams()
settings.model.path = path
settings.model_alias = {alias}
settings.port, settings.n_ctx = int(port), int(context)
settings.n_parallel = 1
if template:
    settings.chat_template = pathlib.Path(template[0]).read_text()
settings.use_jinja = settings.endpoint_props = settings.endpoint_slots = True
settings.warmup = False
settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 2
server = xllamacpp.Server(settings)
print("ready", flush=True)
signal.sigwait({signal.SIGINT, signal.SIGTERM})
