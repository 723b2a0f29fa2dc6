"""`make integration`: installs other people's MCP servers (npm, PyPI) and a proxy of models beside the project, and
runs our client and providers on them.

The packages are pinned and go to an ignored folder, the Python ones into a venv of their own. Where a registry doesn't
answer, the run says so and counts as skipped. `make integration ARGS=servers` leaves the proxy out, whose many packages
take minutes to install; `make integration-llama` runs llama.cpp's server alone, which is compiled here (a C++ compiler,
a quarter of an hour), and `make integration-agents` agents of others (npm) on a model of this machine.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests import npm_packages

HERE = Path(__file__).parent
AGENTS = (  # and the Node that one of them needs
    "@agentclientprotocol/claude-agent-acp@0.101.0",
    "@agentclientprotocol/codex-acp@2.6.0",
    "@google/gemini-cli@0.61.0",
    "opencode-ai@1.18.33",
    "node@22",
)
_UNREACHABLE = ("Could not find a version", "Max retries exceeded", "Temporary failure in name resolution")


def python_servers(lock: Path) -> Path:
    """The venv with what `lock` pins; made where it isn't there yet."""
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    folder = npm_packages.INSTALLED / f"python-{digest}"
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    command = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    done = subprocess.run([*command, "--require-hashes", "-r", str(lock)], capture_output=True, text=True, check=False)
    if done.returncode:
        if any(text in done.stderr for text in _UNREACHABLE):
            raise npm_packages.RegistryUnreachable(done.stderr.strip().splitlines()[-1])
        sys.stderr.write(done.stderr)
        raise SystemExit(f"pip failed in {folder}")
    (folder / "complete").touch()
    return folder


def llama(arguments: list[str]) -> int:
    os.environ.setdefault("CMAKE_ARGS", "-DGGML_NATIVE=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAVA_BUILD=OFF")
    os.environ.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
    try:
        os.environ["FANOUT_TEST_LLAMA"] = str(python_servers(HERE / "llama.lock"))
    except npm_packages.RegistryUnreachable as error:
        print(f"SKIPPED: llama.cpp's server can't be installed, PyPI doesn't answer ({error}).")
        return 0
    return pytest.main([str(HERE / "live_llama.py"), "-n", "0", *arguments])


def agents(arguments: list[str]) -> int:
    folder = npm_packages.INSTALLED / f"agents-{hashlib.sha256(' '.join(AGENTS).encode()).hexdigest()[:16]}"
    if (npm := shutil.which("npm")) is None:
        print("SKIPPED: agents of others need npm, which is not here.")
        return 0
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", *AGENTS]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"SKIPPED: the agents can't be installed: {done.stderr.strip().splitlines()[-1:]}")
            return 0
        (folder / "complete").touch()
    os.environ["FANOUT_TEST_AGENTS"] = str(folder / "node_modules")
    return pytest.main([str(HERE / "live_agents.py"), "-n", "0", "--timeout", "200", *arguments])


def main() -> int:
    if sys.argv[1:2] == ["llama"]:
        return llama(sys.argv[2:])
    if sys.argv[1:2] == ["agents"]:
        return agents(sys.argv[2:])
    only_servers = "servers" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "servers"]
    tests: list[Path] = []
    try:
        os.environ["FANOUT_TEST_NODE_MODULES"] = str(npm_packages.install(HERE / "package-lock.json"))
        os.environ["FANOUT_TEST_PYTHON_SERVERS"] = str(python_servers(HERE / "requirements.lock"))
        tests.append(HERE / "live_servers.py")
    except npm_packages.RegistryUnreachable as error:
        print(f"SKIPPED: other people's servers can't be installed, a registry doesn't answer ({error}).")
    try:
        if not only_servers:
            os.environ["FANOUT_TEST_MODEL_SERVERS"] = str(python_servers(HERE / "models.lock"))
            tests.append(HERE / "live_model_servers.py")
    except npm_packages.RegistryUnreachable as error:
        print(f"SKIPPED: LiteLLM can't be installed, PyPI doesn't answer ({error}).")
    return pytest.main([*map(str, tests), "-n", "0", *arguments]) if tests else 0


if __name__ == "__main__":
    sys.exit(main())
