"""`make conformance`: runs the MCP conformance suite against our client, once for each requirement set.

Every scenario that a revision requires has to pass; extensions run and are shown (docs/conformance.md).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests import npm_packages

REVISIONS = ("2025-11-25", "2026-07-28")
SECONDS = 600  # of one scenario: all of a set start at once, which on a slow machine takes its time


def main() -> int:
    here = Path(__file__).parent
    try:
        modules = npm_packages.install(here / "package-lock.json")
    except npm_packages.RegistryUnreachable as error:
        print(f"SKIPPED: the conformance suite can't be installed, npm's registry doesn't answer ({error}).")
        return 0
    program = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    failed: list[str] = []
    for revision in REVISIONS:
        print(f"\nMCP client conformance, {revision}", flush=True)
        command = [str(npm_packages.node()), str(program), "client", "--requirements", revision]
        command += ["--command", f"{sys.executable} -m tests.conformance.client", "--timeout", str(SECONDS * 1000)]
        command += ["--output-dir", str(npm_packages.INSTALLED / "results" / revision)]
        done = subprocess.run(
            command, cwd=npm_packages.ROOT, env=npm_packages.environment(), capture_output=True, text=True, check=False
        )
        _, _, summary = done.stdout.partition("=== SUITE SUMMARY ===")
        print(summary.strip() or done.stdout + done.stderr, flush=True)
        if done.returncode or not summary:
            failed.append(revision)
    if failed:
        print(f"\nNot conforming: {', '.join(failed)}. What was said is in {npm_packages.INSTALLED / 'results'}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
