"""Servers of a test: free ports, waiting, and a process that ends with the test."""
import contextlib
import os
import pathlib
import socket
import subprocess
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, seconds=60):
    """The first true value of `what`; connections that are refused count as false."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            found = what()
            if found:
                return found
        time.sleep(0.05)
    raise AssertionError("waited in vain")


@contextlib.contextmanager
def running(command, log, ready, **environment):
    """A process that works in the folder of its log file, once it is ready."""
    log = pathlib.Path(log)
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, cwd=log.parent, env={**os.environ, **environment})
    try:
        wait_for(lambda: process.poll() is not None or ready())
        if process.poll() is not None:
            raise AssertionError(log.read_text(encoding="utf-8")[-3000:])
        yield process
    finally:
        process.terminate()
        process.wait(30)
