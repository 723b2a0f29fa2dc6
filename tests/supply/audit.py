"""`make audit`: asks the database of known vulnerabilities (pip-audit) about every package of requirements.lock.

Where pip-audit or the database can't be reached, or it knows nothing of a package, it says so and ends with 0: that
says nothing of the packages.
"""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from pathlib import Path

from tests.supply.lock import LOCK, ROOT

HOME = ROOT / ".external" / "audit"
PIP_AUDIT = "pip-audit>=2.10,<3"
_NO_WAY = re.compile(
    r"ConnectionError|Max retries|NewConnectionError|NameResolution|Temporary failure|ProxyError|timed? ?out|SSLError"
    r"|ServiceError|HTTPError|JSONDecodeError|Could not find a version|No matching distribution",
    re.IGNORECASE,
)


def ending(code: int, said: str) -> tuple[int, str]:
    """The exit code and the line for how pip-audit ended, `said` being all it wrote."""
    skipped = len(re.findall(r"could not be audited", said))
    if code == 0 and skipped:
        return (
            0,
            f"Packages that the database doesn't have, so that nothing was checked of them: {skipped} (see above).",
        )
    if code == 0:
        return 0, "No known vulnerability in requirements.lock."
    if re.search(r"^Found \d+ known vulnerabilit", said, re.MULTILINE):
        return 1, "A package of requirements.lock has a known vulnerability: raise its bound, then make lock."
    if found := _NO_WAY.search(said):
        return 0, f"The database of vulnerabilities can't be reached from here ({found[0]}): nothing was checked."
    return 1, "pip-audit failed, see above: nothing was checked."


def main() -> int:
    """Installs pip-audit in an environment of its own and runs it."""
    python = HOME / "bin" / "python"
    if not python.exists():
        venv.create(HOME, with_pip=True)
    quiet = ["--disable-pip-version-check", "--quiet"]
    code, said = _run([python, "-m", "pip", *quiet, "install", PIP_AUDIT])
    if code == 0:
        options = ["--disable-pip", "--require-hashes", "--progress-spinner", "off"]
        code, said = _run([python, "-m", "pip_audit", "-r", LOCK, *options])
    code, line = ending(code, said)
    print(line)
    return code


def _run(command: list[str | Path]) -> tuple[int, str]:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode or "could not be audited" in done.stdout:
        print(done.stdout[-4000:])
    return done.returncode, done.stdout


if __name__ == "__main__":
    sys.exit(main())
