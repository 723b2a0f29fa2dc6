"""JUnit reports, as CI reads them: a test case for each thing that was tested."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from console_app.domain import UsageError
from console_app.records import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """A test: each of its `problems` is a line; `skipped` says why it was not run, "" where it was."""

    name: str
    seconds: float = 0.0
    problems: Sequence[str] = ()
    skipped: str = ""


def write(path: Path, suite: str, cases: Sequence[Case], *, seconds: float) -> None:
    """Write a report. Raises UsageError where the file can't be written."""
    try:
        path.write_text(report(suite, cases, seconds=seconds), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror or error}", "Name another with --junit.") from None


def report(suite: str, cases: Sequence[Case], *, seconds: float) -> str:
    from xml.etree import ElementTree

    whole = ElementTree.Element(
        "testsuite",
        name=f"fanout {suite}",
        tests=str(len(cases)),
        failures=str(sum(bool(case.problems) for case in cases)),
        errors="0",
        skipped=str(sum(bool(case.skipped) and not case.problems for case in cases)),
        time=f"{seconds:.3f}",
    )
    for case in cases:
        one = ElementTree.SubElement(whole, "testcase", classname=suite, name=case.name, time=f"{case.seconds:.3f}")
        if case.problems:
            ElementTree.SubElement(one, "failure", message=case.problems[0]).text = "\n".join(case.problems)
        elif case.skipped:
            ElementTree.SubElement(one, "skipped", message=case.skipped)
    return ElementTree.tostring(whole, encoding="unicode", xml_declaration=True) + "\n"
