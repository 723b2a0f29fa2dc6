"""A batch as one page: each item on its lane, its failures first, and nothing foreign acts."""

from __future__ import annotations

from pathlib import Path

from console_app import page
from console_app.config.secrets import Redactor
from console_app.domain import batch
from console_app.domain.tools import Outcome
from tests.each import each
from tests.page.parts import HOSTILE, Page, faults


def written(folder: Path, text: str, redactor: Redactor | None = None) -> str:
    """The page of two items, one of which failed, that say `text`."""
    call = batch.ItemCall(
        server=text, tool=text, arguments={text: text}, outcome=Outcome.FAILED, content=text, error=text, duration_ms=40
    )
    common = {"item": "0" * 16, "answer": text, "model": text, "source": text, "calls": (call, call)}
    results = [
        batch.ItemResult(id=f"good {text}", status="completed", started_at=10.0, finished_at=12.0, **common),
        batch.ItemResult(id=f"bad {text}", status="failed", error=text, started_at=10.5, finished_at=14.0, **common),
    ]
    progress = batch.BatchProgress(3)
    progress.begin(10.0)
    lines = folder / "r.jsonl"
    with open(lines, "w", encoding="utf-8") as file:
        for one in results:
            progress.finished(one)
            file.write(one.model_dump_json() + "\n")
    path = folder / "page.html"
    run = progress.ended(14.0, name=text, results=str(lines))
    page.write_batch(path, run, lines, redactor or Redactor())
    return path.read_text("utf-8")


@each("text", [one for one in HOSTILE if one.isprintable() or "\n" in one])
def test_nothing_foreign_acts(text: str, tmp_path: Path) -> None:
    assert faults(written(tmp_path, text)) == []


def test_failures_come_first_and_each_item_has_a_lane(tmp_path: Path) -> None:
    shown = Page(written(tmp_path, "Oslo **cold**"))
    assert shown.text.index("bad Oslo") < shown.text.index("good Oslo")
    assert "strong" in {tag for tag, _ in shown.tags}
    assert "2 failed" in shown.text  # the calls of an item, in the words of the screen
    lanes = [(one["x"], one["width"]) for one in shown.all("rect") if one["class"] == "run"]
    assert lanes == [("125.0", "875.0"), ("0.0", "500.0")]
    assert "1 more are not shown here" in shown.text


def test_a_secret_is_nowhere(tmp_path: Path) -> None:
    secret = "sk-verysecret-<&>-0123456789abcdef"
    assert "verysecret" not in written(tmp_path, f"{'x' * 150} {secret}", Redactor([secret]))
