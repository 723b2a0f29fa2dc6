"""`make conformance`: runs the MCP conformance suite against our client, once for each requirement set.

Every scenario that a revision requires has to pass; extensions run and are shown (docs/mcp.md).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests import npm_packages

REVISIONS = ("2025-11-25", "2026-07-28")
SECONDS = 600  # of one scenario: all of a set start at once, which on a slow machine takes its time


def failures(results: Path) -> Iterator[str]:
    """A line for every check that failed, and what our client printed where one did."""
    for checks in sorted(results.rglob("checks.json")):
        failed = [check for check in json.loads(checks.read_text()) if check["status"] == "FAILURE"]
        yield from (f"{checks.parent.name}: {check['id']}: {check.get('errorMessage')}" for check in failed)
        if failed:
            yield from (path.read_text()[-1000:] for path in sorted(checks.parent.glob("std*.txt")))


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
        results = npm_packages.INSTALLED / "results" / revision
        shutil.rmtree(results, ignore_errors=True)
        command += ["--output-dir", str(results)]
        done = subprocess.run(
            command, cwd=npm_packages.ROOT, env=npm_packages.environment(), capture_output=True, text=True, check=False
        )
        _, _, summary = done.stdout.partition("=== SUITE SUMMARY ===")
        print(summary.strip() or done.stdout + done.stderr, flush=True)
        if done.returncode or not summary:
            failed.append(revision)
            print(*failures(results), done.stderr[-2000:], sep="\n", flush=True)
    if failed:
        print(f"\nNot conforming: {', '.join(failed)}. What was said is in {npm_packages.INSTALLED / 'results'}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
