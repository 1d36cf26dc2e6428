"""A toolglot under test: started with a configuration of its own, asked over bare sockets and http.client, and looked at through /proc."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Daemon:
    def __init__(self, binary, config, limit_files=None, command=("serve",), env=None, prepare=None):
        """`prepare` is called with the daemon's folder before the start."""
        self.folder = tempfile.TemporaryDirectory()
        if prepare:
            prepare(self.folder.name)
        self.port = free_port()
        file = os.path.join(self.folder.name, "proxy.toml")
        if "listen" not in config:
            config = f'listen = "127.0.0.1:{self.port}"\n{config}'
        with open(file, "w") as out:
            out.write(config.replace("PORT", str(self.port)).replace("FOLDER", self.folder.name))
        self.log_file = os.path.join(self.folder.name, "log")
        env = {**os.environ, "XDG_DATA_HOME": self.folder.name, "HOME": self.folder.name, **(env or {})}
        command = [binary, *command, "--config", file]
        if limit_files:
            command = ["bash", "-c", f'ulimit -n {limit_files}; exec "$@"', "-", *command]
        self.process = subprocess.Popen(command, env=env, stderr=open(self.log_file, "wb"), cwd=self.folder.name)
        for _ in range(300):
            with contextlib.suppress(OSError):
                if self.get("/healthz")[0] == 200:
                    return
            assert self.process.poll() is None, self.log()
            time.sleep(0.1)
        raise AssertionError("the daemon does not answer: " + self.log())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def log(self):
        with open(self.log_file, errors="replace") as log:
            return log.read()

    def connect(self, timeout=30):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def socket(self, timeout=30):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def get(self, path, headers=None):
        connection = self.connect(5)
        connection.request("GET", path, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.read()

    def post(self, path, body, headers=None, timeout=120):
        """Status and body of the whole answer."""
        connection = self.connect(timeout)
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        connection.request("POST", path, body, {"content-type": "application/json", **(headers or {})})
        response = connection.getresponse()
        return response.status, response.read()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def memory(self):
        """Resident bytes now, and at most since `forget_peak`."""
        with open(f"/proc/{self.process.pid}/status") as status:
            found = dict(line.split(":", 1) for line in status)
        kib = lambda name: int(found[name].split()[0]) * 1024
        return kib("VmRSS"), kib("VmHWM")

    def forget_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as refs:
            refs.write("5")

    def files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))
