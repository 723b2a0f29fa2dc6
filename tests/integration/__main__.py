"""`make integration`: installs other people's MCP servers (npm, PyPI) beside the project and runs our client on them.

The packages are pinned and go to an ignored folder, the Python ones into a venv of their own. Where a registry doesn't
answer, the run says so and counts as skipped.
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
_UNREACHABLE = ("Could not find a version", "Max retries exceeded", "Temporary failure in name resolution")


def python_servers() -> Path:
    """The venv with the servers of requirements.lock; made where it isn't there yet."""
    lock = HERE / "requirements.lock"
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


def main() -> int:
    try:
        modules, python = npm_packages.install(HERE / "package-lock.json"), python_servers()
    except npm_packages.RegistryUnreachable as error:
        print(f"SKIPPED: other people's servers can't be installed, a registry doesn't answer ({error}).")
        return 0
    os.environ["FANOUT_TEST_NODE_MODULES"] = str(modules)
    os.environ["FANOUT_TEST_PYTHON_SERVERS"] = str(python)
    return pytest.main([str(HERE / "live_servers.py"), "-n", "0", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
