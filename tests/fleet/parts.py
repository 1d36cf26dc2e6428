"""The parts of a fleet on this machine: a backend, Redis, toolglots and HAProxy, each on a free port and in a folder of its own."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PASSWORD = "a-password"
KEYS = {"ann": "key-of-ann", "bob": "key-of-bob", "boss": "key-of-boss"}
# Each with its own six requests per minute.
PACED = ["carl", "cleo", "cora"]
KEYS.update({name: f"key-of-{name}" for name in PACED})
LOADED = 40  # this machine may be busy with other things: how long to wait for anything, in seconds


def free_port():
    """A free port, so low that the one of a cluster's bus, which is 10000 higher, is one as well."""
    while True:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            if s.getsockname()[1] < 55000:
                return s.getsockname()[1]


def until(what, condition, seconds=LOADED):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if found := condition():
                return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what}")


def ask(port, method, path, body=None, key="ann", headers=None, timeout=60):
    """Status, headers and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    sent = {"content-type": "application/json", **(headers or {})}
    if key:
        sent["authorization"] = f"Bearer {KEYS[key]}"
    connection.request(method, path, None if body is None else json.dumps(body), sent)
    response = connection.getresponse()
    return response.status, dict((name.lower(), value) for name, value in response.getheaders()), response.read()


class Part:
    """A process with a folder; ends with the fleet."""

    def __init__(self, folder, name):
        self.folder = os.path.join(folder, name)
        os.makedirs(self.folder, exist_ok=True)
        self.name, self.port, self.process = name, free_port(), None

    def start(self, command, **options):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **options)

    def log(self):
        with open(os.path.join(self.folder, "log"), errors="replace") as log:
            return log.read()

    def end(self, how=signal.SIGKILL):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(LOADED)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as out:
            out.write(text)
        return path


class Backend(Part):
    def __init__(self, folder):
        super().__init__(folder, "backend")
        self.start([sys.executable, os.path.join(HERE, "backend.py"), str(self.port)])
        until("the backend answers", lambda: self.counts() is not None)

    def counts(self):
        return json.loads(ask(self.port, "GET", "/counts", key=None)[2])


class Redis(Part):
    """`options`: further arguments of redis-server."""

    def __init__(self, folder, name="redis", options=()):
        super().__init__(folder, name)
        self.options = options
        self.run()

    def run(self):
        port = [] if "--tls-port" in self.options else ["--port", str(self.port)]
        plain = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--requirepass", PASSWORD]
        self.start(["redis-server", *port, *plain, *[str(self.port) if option == "PORT" else option for option in self.options]])
        until("Redis listens", lambda: socket.create_connection(("127.0.0.1", self.port), 1).close() is None)

    def cli(self, *command):
        environment = {**os.environ, "REDISCLI_AUTH": PASSWORD}
        return subprocess.run(["redis-cli", "-p", str(self.port), *command], env=environment, capture_output=True, text=True, timeout=LOADED).stdout


class Toolglot(Part):
    def __init__(self, folder, name, binary, store, backend, extra="", environment=None):
        super().__init__(folder, name)
        self.binary, self.environment = binary, {"XDG_DATA_HOME": self.folder, "HOME": self.folder, **(environment or {})}
        self.environment.update({f"KEY_OF_{name.upper()}": key for name, key in KEYS.items()})
        # Commands of mode shell begin with its name.
        programs = os.path.join(self.folder, "bin")
        os.mkdir(programs)
        os.symlink(binary, os.path.join(programs, "toolglot"))
        self.environment["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.write("password", PASSWORD)
        self.config = self.write(
            "proxy.toml",
            f"""
listen = "127.0.0.1:{self.port}"
store = "{store}"
store_password_file = "password"
drain_seconds = 30
drain_announce_seconds = 2
{extra}
[mcp]
builtin_tools = true
[limits]
connections = 2000
[[backend]]
name = "scripted"
kind = "openai"
url = "http://127.0.0.1:{backend.port}/v1"
[[key]]
name = "ann"
key_env = "KEY_OF_ANN"
[[key]]
name = "bob"
key_env = "KEY_OF_BOB"
models = ["talk", "native"]
modes = ["rewrite"]
mcp_servers = []
[[key]]
name = "boss"
key_env = "KEY_OF_BOSS"
operator = true
"""
            + "".join(f'[[key]]\nname = "{name}"\nkey_env = "KEY_OF_{name.upper()}"\nrequests_per_minute = 6\n' for name in PACED),
        )
        self.run()

    def run(self):
        self.start([self.binary, "serve", "--config", self.config], env={**os.environ, **self.environment})
        until(f"{self.name} is ready", self.is_ready)

    def is_ready(self):
        assert self.process.poll() is None, self.log()
        return ask(self.port, "GET", "/readyz", key=None)[0] == 200

    def call(self, *arguments):
        """`toolglot call` as somebody on the machine of this instance runs it."""
        command = [self.binary, "call", "--config", self.config, *arguments]
        environment = {**os.environ, **self.environment}
        return subprocess.run(command, env=environment, cwd=self.folder, capture_output=True, text=True, timeout=LOADED)

    def metric(self, line):
        text = ask(self.port, "GET", "/metrics", key="boss")[2].decode()
        return next((float(found.rsplit(" ", 1)[1]) for found in text.splitlines() if found.startswith(line)), None)

    def has_store(self):
        return self.metric("toolglot_store_present") == 1


class Balancer(Part):
    """HAProxy, round robin without affinity, as deploy/haproxy.cfg has it, with faster checks."""

    def __init__(self, folder, instances, failures=1):
        """`failures`: of so many checks in a row an instance is taken out."""
        super().__init__(folder, "haproxy")
        servers = "\n".join(f"    server {one.name} 127.0.0.1:{one.port}" for one in instances)
        config = self.write(
            "haproxy.cfg",
            f"""
global
    maxconn 4000
defaults
    mode http
    timeout connect 2s
    timeout client 1m
    timeout server 1m
    retries 3
    option redispatch 1
    retry-on conn-failure
frontend in
    bind 127.0.0.1:{self.port}
    default_backend toolglot
backend toolglot
    balance roundrobin
    option httpchk GET /readyz
    http-check send hdr Host localhost
    default-server check inter 500ms fall {failures} rise 1
{servers}
""",
        )
        self.start(["haproxy", "-db", "-f", config])
        until("HAProxy forwards", lambda: ask(self.port, "GET", "/healthz", key=None)[0] == 200)


def certificates(folder):
    """An authority and a certificate for 127.0.0.1 by it; `None` without openssl."""
    if not shutil.which("openssl"):
        return None
    path = lambda name: os.path.join(folder, name)
    run = lambda *command: subprocess.run(["openssl", *command], check=True, capture_output=True, timeout=LOADED)
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    run("req", "-x509", *new, "-keyout", path("ca.key"), "-out", path("ca.pem"), "-subj", "/CN=ca", "-days", "2")
    run("req", *new, "-keyout", path("key.pem"), "-out", path("csr.pem"), "-subj", "/CN=redis")
    with open(path("ext"), "w") as out:
        out.write("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    run("x509", "-req", "-in", path("csr.pem"), "-CA", path("ca.pem"), "-CAkey", path("ca.key"), "-CAcreateserial", "-out", path("cert.pem"), "-extfile", path("ext"), "-days", "2")
    return path
