"""Three toolglots on one Redis behind HAProxy, and what they must do together.

usage: fleet.py BINARY
"""

import concurrent.futures
import http.client
import json
import os
import re
import signal
import sys
import tempfile
import threading
import time

from backend import PIECES
from parts import KEYS, LOADED, PACED, Backend, Balancer, Redis, Toolglot, ask, certificates, until

READ_FILE = [{"type": "function", "function": {"name": "read_file", "description": "Reads a file.", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}}]


def chat(port, model, messages=None, key="ann", path="/v1/chat/completions", **rest):
    body = {"model": model, "messages": messages or [{"role": "user", "content": "go"}], **rest}
    return ask(port, "POST", path, body, key)


def message(answer):
    status, _, body = answer
    assert status == 200, body
    return json.loads(body)["choices"][0]["message"]


def respond(port, text, previous=None, key="ann"):
    body = {"model": "talk", "input": text, **({"previous_response_id": previous} if previous else {})}
    return ask(port, "POST", "/v1/responses", body, key)


def said(answer):
    status, _, body = answer
    assert status == 200, (status, body)
    response = json.loads(body)
    return response["id"], response["output"][0]["content"][0]["text"]


def shell_call(instance):
    """The id of a call that waits."""
    text = message(chat(instance.port, "shell", path="/shell/v1/chat/completions"))["content"]
    return re.search(r"toolglot call (\S+)", text).group(1)


def stream(port, key="ann"):
    """One whole stream through the balancer: what broke in it, or nothing."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LOADED)
    body = json.dumps({"model": "tick", "stream": True, "messages": [{"role": "user", "content": "go"}]})
    try:
        connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json", "authorization": f"Bearer {KEYS[key]}"})
        response = connection.getresponse()
        text = response.read().decode()
    except (OSError, http.client.HTTPException) as error:
        return repr(error)
    found = re.findall(r'"content":"(\d+) "', text)
    # Pieces that arrive together leave together.
    found = re.findall(r"\d+", "".join(re.findall(r'"content":"([\d ]+)"', text))) if len(found) != PIECES else found
    if response.status != 200 or found != [str(at) for at in range(PIECES)] or not text.rstrip().endswith("data: [DONE]"):
        return f"{response.status} {len(found)} pieces, ends with {text[-80:]!r}"
    return None


class Fleet:
    def __init__(self, folder, binary):
        self.folder, self.binary = folder, binary
        self.backend = Backend(folder)
        self.redis = Redis(folder)
        store = f"redis://127.0.0.1:{self.redis.port}/3"
        self.instances = [Toolglot(folder, name, binary, store, self.backend) for name in "abc"]
        self.a, self.b, self.c = self.instances
        for instance in self.instances:
            until(f"{instance.name} has the store", instance.has_store)
        self.balancer = Balancer(folder, self.instances)
        self.others = []
        # The how many-th attempt of a check this is, and how often one had to be repeated.
        self.attempt, self.slow = 1, 0

    def lost(self):
        """Commands to Redis that were too late: on a machine that is busy with other things, 50 ms are not always enough."""
        running = [*self.instances, *(part for part in self.others if isinstance(part, Toolglot))]
        return sum(instance.metric("toolglot_store_failures_total") or 0 for instance in running)

    def held(self, check):
        """What a check has to say. It is repeated if it failed while an instance had to go on without Redis, which it may."""
        for self.attempt in range(1, 4):
            for instance in self.instances:
                until("the store is there", instance.has_store)
            lost = self.lost()
            try:
                return check()
            except AssertionError as error:
                if self.attempt == 3 or self.lost() == lost:
                    raise
                self.slow += 1
                print(f"{'':10}repeated, Redis was too slow: {str(error)[:200]}", flush=True)

    def end(self):
        for part in [self.balancer, *self.instances, self.redis, self.backend, *self.others]:
            part.end()

    # === what must hold ===

    def learned_facts_travel(self):
        before = self.backend.counts()
        for instance in self.instances:
            assert message(chat(instance.port, "native", tools=READ_FILE))["content"] == "Hello."
        counts = self.backend.counts()
        told = [counts.get(what, 0) - before.get(what, 0) for what in ("native: refused", "native: in the prompt")]
        assert told == [1 if self.attempt == 1 else 0, 3], told
        return "one refusal for three instances"

    def a_shell_call_runs_once_wherever(self):
        id = shell_call(self.a)
        ran = self.b.call(id)
        assert ran.returncode == 0 and "Tanaka" in ran.stdout, ran
        for instance in self.instances:
            again = instance.call(id)
            assert again.returncode != 0 and "no call waits" in again.stderr, (instance.name, again)
        # At the same time on all machines.
        id = shell_call(self.c)
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            ran = list(pool.map(lambda instance: instance.call(id).returncode, self.instances))
        assert sorted(ran) == [0, 1, 1], ran
        # On the machine that made it, by the id alone.
        assert self.a.call(shell_call(self.a)).returncode == 0

    def a_mixed_turn_goes_on_elsewhere(self):
        handed = message(chat(self.a.port, "mixed", path="/react/v1/chat/completions", tools=READ_FILE))
        assert [call["function"]["name"] for call in handed["tool_calls"]] == ["read_file"], handed
        history = [{"role": "user", "content": "go"}, handed, {"role": "tool", "tool_call_id": handed["tool_calls"][0]["id"], "content": "the file"}]
        answer = message(chat(self.c.port, "mixed", history, path="/react/v1/chat/completions", tools=READ_FILE))
        assert answer["content"] == "results: ours theirs", answer

    def a_conversation_goes_on_elsewhere(self):
        previous = None
        for turn in range(6):
            previous, text = said(respond(self.instances[turn % 3].port, f"turn {turn}", previous))
            assert text == f"{turn + 1} said", text
        deleted = ask(self.c.port, "DELETE", f"/v1/responses/{previous}")
        assert deleted[0] == 200, deleted
        left = [ask(one.port, "GET", f"/v1/responses/{previous}")[0] for one in self.instances]
        assert left == [404] * 3, left

    def an_mcp_session_goes_on_elsewhere(self):
        headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        first = ask(self.a.port, "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}, headers=headers)
        assert first[0] == 200, first
        headers["mcp-session-id"] = first[1]["mcp-session-id"]
        ask(self.a.port, "POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
        for instance in (self.b, self.c):
            listed = ask(instance.port, "POST", "/mcp", {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=headers)
            assert listed[0] == 200 and b"get_employee_info" in listed[2], listed
            # The same session with a key that may use no server.
            listed = ask(instance.port, "POST", "/mcp", {"jsonrpc": "2.0", "id": 3, "method": "tools/list"}, "bob", headers)
            assert b"get_employee_info" not in listed[2], listed

    def a_rate_holds_over_all(self):
        answers = [chat(self.instances[at % 3].port, "talk", key=PACED[self.attempt - 1]) for at in range(15)]
        statuses = [status for status, _, _ in answers]
        assert statuses == [200] * 6 + [429] * 9, statuses
        late = answers[-1]
        assert 1 <= int(late[1]["retry-after"]) <= 61 and b"rate_limit_exceeded" in late[2], late
        assert chat(self.a.port, "talk", key="ann")[0] == 200

    def tenants_see_only_their_own(self):
        id, _ = said(respond(self.a.port, "a secret of ann's"))
        for instance in self.instances:
            assert ask(instance.port, "GET", f"/v1/responses/{id}", key="bob")[0] == 404
            assert ask(instance.port, "GET", f"/v1/responses/{id}/input_items", key="bob")[0] == 404
            assert ask(instance.port, "DELETE", f"/v1/responses/{id}", key="bob")[0] == 404
            assert respond(instance.port, "and?", id, "bob")[0] == 400
        assert ask(self.b.port, "GET", f"/v1/responses/{id}")[0] == 200
        # The catalogue.
        listed = json.loads(ask(self.a.port, "GET", "/v1/models", key="bob")[2])
        assert [model["id"] for model in listed["data"]] == ["talk", "native"], listed
        tags = json.loads(ask(self.a.port, "GET", "/api/tags", key="bob")[2])
        assert [model["name"] for model in tags["models"]] == ["talk", "native"], tags
        for unknown in ("tick", "there-is-none"):
            status, _, body = chat(self.a.port, unknown, key="bob")
            assert status == 404 and not any(other in body.decode() for other in ("shell", "mixed")), body
            assert ask(self.a.port, "POST", "/api/show", {"model": unknown}, "bob")[0] == 404
        for mode in ("react", "shell", "off"):
            assert chat(self.a.port, "talk", key="bob", path=f"/{mode}/v1/chat/completions")[0] == 403
        # What belongs to operators.
        for path in ("/metrics", "/mcp/list"):
            assert ask(self.a.port, "GET", path, key="bob")[0] == 403, path
        labels = ask(self.a.port, "GET", "/metrics", key="boss")[2].decode()
        assert 'toolglot_tenant_requests_total{tenant="ann",status="200"}' in labels, labels
        # Learned facts are a tenant's, too.
        before = self.backend.counts().get("native: refused", 0)
        chat(self.c.port, "native", key="bob", tools=READ_FILE)
        assert self.backend.counts()["native: refused"] == before + 1 or self.attempt > 1
        for part in [*self.instances]:
            assert not any(key in part.log() for key in KEYS.values()), "a key in the log"
        names = self.redis.cli("-n", "3", "keys", "toolglot:*").split()
        owners = {name.split(":")[1] for name in names}
        assert owners <= {"", "ann", "bob", "probe", *PACED}, owners

    def a_restart_breaks_no_answer(self):
        broken, lock = [], threading.Lock()

        def one(wait):
            time.sleep(wait)
            fault = stream(self.balancer.port)
            with lock:
                broken.append(fault)

        # 200 streams of six seconds, and further ones while an instance ends and comes back.
        starts = [at / 100 for at in range(200)] + [2 + at / 10 for at in range(80)]
        threads = [threading.Thread(target=one, args=(wait,)) for wait in starts]
        for thread in threads:
            thread.start()
        time.sleep(3)
        under_way = self.b.metric("toolglot_requests_under_way")
        self.b.process.send_signal(signal.SIGTERM)
        until("b is not ready", lambda: ask(self.b.port, "GET", "/readyz", key=None)[0] == 503, 5)
        status, headers, body = until("b refuses", lambda: next((answer for answer in [chat(self.b.port, "talk")] if answer[0] != 200), None), 5)
        assert status == 503 and headers["retry-after"] == "1" and b"draining" in body, (status, headers, body)
        assert self.b.process.wait(LOADED) == 0, self.b.log()
        self.b.run()
        for thread in threads:
            thread.join(LOADED)
        faults = [fault for fault in broken if fault]
        assert len(broken) == len(starts) and not faults, (len(faults), faults[:3])
        assert under_way > 20, under_way
        return f"{len(starts)} streams, {under_way:.0f} on the one that ended, 0 broken"

    def it_goes_on_without_redis(self):
        kept, _ = said(respond(self.a.port, "kept by a"))
        waiting = shell_call(self.a)
        failures, times, done = [], [], threading.Event()

        def load():
            while not done.is_set():
                begun = time.monotonic()
                status, _, body = chat(self.balancer.port, "talk")
                times.append(time.monotonic() - begun)
                if status != 200:
                    failures.append((status, body))

        threads = [threading.Thread(target=load) for _ in range(8)]
        for thread in threads:
            thread.start()
        try:
            self.redis_comes_and_goes(kept, waiting)
        finally:
            done.set()
            for thread in threads:
                thread.join(LOADED)
            if self.redis.process.poll() is not None:
                self.redis.run()
        assert not failures, (len(failures), failures[:3])
        for instance in self.instances:
            lines = instance.log().count("the shared store is absent")
            # One per outage, and at most one in ten seconds.
            assert 1 <= lines <= 2 + self.slow, (lines, instance.log()[-3000:])
            assert instance.metric("toolglot_store_failures_total") >= 1
        return f"{len(times)} requests, 0 failed, the slowest took {max(times) * 1000:.0f} ms"

    def redis_comes_and_goes(self, kept, waiting):
        time.sleep(1)
        self.redis.end()
        for instance in self.instances:
            until("the store is missed", lambda instance=instance: not instance.has_store())
        # What is local goes on; what is not says why.
        here = ask(self.a.port, "GET", f"/v1/responses/{kept}")
        assert here[0] == 200, here
        elsewhere = ask(self.b.port, "GET", f"/v1/responses/{kept}")
        assert elsewhere[0] == 503 and b"store_absent" in elsewhere[2], elsewhere
        refused = self.b.call(waiting)
        assert refused.returncode != 0 and "does not answer" in refused.stderr, refused
        own = shell_call(self.c)
        ran, again = self.c.call(own), self.c.call(own)
        assert ran.returncode == 0 and again.returncode != 0, (ran, again)
        late, _ = said(respond(self.c.port, "kept by c, while nobody else could"))
        time.sleep(1)
        self.redis.run()
        for instance in self.instances:
            until("the store is back", instance.has_store)
        # What was kept meanwhile is handed in.
        until("it is handed in", lambda: ask(self.a.port, "GET", f"/v1/responses/{late}")[0] == 200, 5)

    def a_cluster_does_as_well(self):
        options = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"]
        nodes = [Redis(self.folder, f"node{number}-{self.attempt}", options) for number in range(3)]
        self.others.extend(nodes)
        places = [f"127.0.0.1:{node.port}" for node in nodes]
        nodes[0].cli("--cluster", "create", *places, "--cluster-yes")
        for node in nodes:
            until("the cluster is up", lambda: "cluster_state:ok" in node.cli("cluster", "info"))
        store = "redis://" + ",".join(places)
        pair = [Toolglot(self.folder, name, self.binary, store, self.backend, "store_cluster = true") for name in (f"d{self.attempt}", f"e{self.attempt}")]
        self.others.extend(pair)
        for instance in pair:
            until("the cluster is reached", instance.has_store)
        previous, _ = said(respond(pair[0].port, "one"))
        assert said(respond(pair[1].port, "two", previous))[1] == "2 said"
        # Several keys at once lie in different parts of it.
        calls = [{"id": f"c{at}", "type": "function", "function": {"name": "read_file", "arguments": "{}"}} for at in range(8)]
        history = [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": calls}]
        history += [{"role": "tool", "tool_call_id": call["id"], "content": "x"} for call in calls]
        assert chat(pair[0].port, "talk", history, tools=READ_FILE)[0] == 200
        rates = [chat(pair[at % 2].port, "talk", key="carl")[0] for at in range(8)]
        assert rates == [200] * 6 + [429] * 2, rates
        # A part of it is lost: the requests go on.
        nodes[2].end()
        assert [chat(pair[at % 2].port, "talk")[0] for at in range(6)] == [200] * 6

    def tls_does_as_well(self):
        path = certificates(self.folder)
        if path is None:
            return "NOT CHECKED: openssl is not installed"
        files = ["--tls-cert-file", path("cert.pem"), "--tls-key-file", path("key.pem"), "--tls-ca-cert-file", path("ca.pem")]
        redis = Redis(self.folder, f"tls{self.attempt}", ["--port", "0", "--tls-port", "PORT", *files, "--tls-auth-clients", "no"])
        self.others.append(redis)
        store = f"rediss://127.0.0.1:{redis.port}"
        one = Toolglot(self.folder, f"f{self.attempt}", self.binary, store, self.backend, environment={"SSL_CERT_FILE": path("ca.pem")})
        self.others.append(one)
        until("the store is reached over TLS", one.has_store)
        previous, _ = said(respond(one.port, "one"))
        assert said(respond(one.port, "two", previous))[1] == "2 said"


def main(binary):
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="toolglot-fleet-") as folder:
        fleet = Fleet(folder, os.path.abspath(binary))
        checks = [
            fleet.learned_facts_travel,
            fleet.a_shell_call_runs_once_wherever,
            fleet.a_mixed_turn_goes_on_elsewhere,
            fleet.a_conversation_goes_on_elsewhere,
            fleet.an_mcp_session_goes_on_elsewhere,
            fleet.a_rate_holds_over_all,
            fleet.tenants_see_only_their_own,
            fleet.a_cluster_does_as_well,
            fleet.tls_does_as_well,
            fleet.a_restart_breaks_no_answer,
            fleet.it_goes_on_without_redis,
        ]
        failed = 0
        try:
            for check in checks:
                at = time.monotonic()
                try:
                    note = fleet.held(check)
                except Exception as error:
                    failed += 1
                    note = f"FAILED: {type(error).__name__}: {error}"
                print(f"{time.monotonic() - at:6.1f} s  {check.__name__.replace('_', ' ')}{': ' + note if note else ''}", flush=True)
        finally:
            fleet.end()
    print(f"{len(checks) - failed} of {len(checks)} in {time.monotonic() - begun:.0f} s")
    return failed


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1])))
