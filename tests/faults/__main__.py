"""`make faults`: tries every fault of `faults.txt`; prints how many were tried, and how many held."""

from __future__ import annotations

import os
import sys
from collections import Counter

import pytest

from tests.faults.table import ROOT, Row, rows

SHARES = "::test_what_stands_on_whole_pages_comes_back"


class Tally:
    """The outcomes of all cases, by the test that they belong to."""

    def __init__(self) -> None:
        self.tried: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.skipped: dict[str, str] = {}
        self.shares: list[str] = []  # how much of damaged files came back, as the tests of them print it

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        node = report.nodeid.partition("[")[0]
        if report.skipped and isinstance(report.longrepr, tuple):
            self.skipped[node] = report.longrepr[2]
        elif report.when == "call" or report.failed:
            self.tried[node] += report.when == "call" or report.when == "setup"
            self.failed[node] += report.failed
            if node.endswith(SHARES) and report.when == "call":
                self.shares += report.capstdout.splitlines()

    def lines(self, table: list[Row]) -> list[str]:
        """A line a kind, and one for each row that didn't hold or could not be tried."""
        said: list[str] = []
        for kind in dict.fromkeys(row.kind for row in table):
            nodes = {row.node for row in table if row.kind == kind}
            tried = sum(self.tried[node] for node in nodes)
            held = tried - sum(self.failed[node] for node in nodes)
            said.append(f"{kind:12} {len(nodes):4} faults {tried:5} tried {held:5} held")
        said += self.shares
        for row in table:
            if self.failed[row.node] or not self.tried[row.node]:
                why = "did not hold" if self.failed[row.node] else self.skipped.get(row.node, "was not tried")
                said.append(f"{row.kind}: {row.fault}: {why} ({row.node})")
        return said

    def all_held(self, table: list[Row]) -> bool:
        """Tell whether every row held, or this machine can't try it and says why."""
        return all(not self.failed[row.node] and (self.tried[row.node] or row.node in self.skipped) for row in table)


def main() -> int:
    """Runs the tests of all rows, the longest form of each; further arguments go to pytest."""
    os.chdir(ROOT)
    os.environ["FAULTS"] = "all"
    table, tally = rows(), Tally()
    nodes = sorted({row.node for row in table})
    code = pytest.main([*nodes, "-q", "-n", "auto", *sys.argv[1:]], plugins=[tally])
    print("\n".join(tally.lines(table)))
    return 0 if code == pytest.ExitCode.OK and tally.all_held(table) else 1


if __name__ == "__main__":
    sys.exit(main())
