"""No fault that is tried vanishes unsaid, and each has a test that tries it."""

from __future__ import annotations

from collections import Counter

from tests.faults.__main__ import Tally
from tests.faults.table import counts, names_of_tests, rows

# All tests of these files are faults.
WHOLE = (
    "config/test_records.py",
    "faults/test_disks.py",
    "mcp_client/test_lines.py",
    "mcp_client/test_no_orphans.py",
    "mcp_client/test_stdio_faults.py",
    "providers/test_faults.py",
    "sessions/test_killed.py",
)


def test_every_row_has_a_test_and_none_has_gone() -> None:
    table = rows()
    assert [row for row in table if row.name not in names_of_tests(row.file)] == []
    assert Counter(row.kind for row in table) == counts()
    assert max(Counter(row.node for row in table).values()) == 1


def test_every_test_of_a_fault_is_in_the_table() -> None:
    listed = {row.node for row in rows()}
    assert [
        f"{file}::{name}" for file in WHOLE for name in names_of_tests(file) if f"tests/{file}::{name}" not in listed
    ] == []


def test_the_report_counts_and_says_what_did_not_hold() -> None:
    table, tally = rows()[:3], Tally()
    tally.tried.update({row.node: 2 for row in table})
    assert tally.all_held(table)
    tally.failed[table[1].node] = 1
    assert not tally.all_held(table)
    said = tally.lines(table)
    assert "6 tried     5 held" in said[0]
    assert [line for line in said if "did not hold" in line] == said[1:]
    tally.failed.clear()
    del tally.tried[table[2].node]
    assert not tally.all_held(table), "one that was not tried is none that held"
