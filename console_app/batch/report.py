"""A batch that has ended: a few lines that sum it up, and one HTML page with its failures and its results."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from pydantic import ValidationError

from console_app.config.files import disk
from console_app.config.secrets import Redactor
from console_app.domain import UsageError, batch, one_line, plural, visible

_BAR = 30  # characters of the longest bar
_CAUSES = 8
_MOST = 2_000  # results of a page, those that failed first
_LONGEST = 2_000  # characters of an answer
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --bar: #4a8; --bad: #c33; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: .3rem .6rem;
border-bottom: 1px solid var(--line); } td.n { text-align: right; white-space: nowrap;
font-variant-numeric: tabular-nums; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font: inherit; } .bad { color: var(--bad); }
.bar { background: var(--bar); height: .9rem; } dl { display: grid; grid-template-columns: max-content 1fr;
gap: .1rem 1rem; } dd { margin: 0; } summary { cursor: pointer; }
"""


def summary(run: batch.BatchSnapshot) -> Iterator[str]:
    """Sum up a run that has ended: how many items, how long, what failed and why, and the cost."""
    counts = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in run.counts.items())
    before = f" ({run.earlier} from before)" if run.earlier else ""
    yield f"{run.ended + run.earlier} of {plural(run.total, 'item')} done{before}: {counts or 'none ran'}."
    if run.ending:
        yield f"Stopped: {run.ending}."
    if run.ended:
        took = batch.duration(max(run.at - run.started_at, 0.0))
        rate = f", {run.rate:.1f} items a second" if run.rate else ""
        yield f"It took {took}{rate}; {plural(run.calls, 'call')}, {run.failed_calls} of them without success."
    if run.usage.input_tokens or run.usage.output_tokens:
        priced = f", {batch.money(run.usage.cost)}" if run.usage.cost is not None else ", price not known"
        yield f"Tokens: {run.usage.input_tokens:,} in, {run.usage.output_tokens:,} out{priced}."
    if run.histogram:
        yield "Durations:"
        most = max(bar.count for bar in run.histogram)
        for bar in run.histogram:
            drawn = "█" * max(round(bar.count / most * _BAR), 1 if bar.count else 0)
            yield f"  up to {batch.duration(bar.up_to):>8} {bar.count:>7} {drawn}"
    if run.slowest:
        yield (
            "Slowest: "
            + ", ".join(f"{one_line(one.id, 40)} {batch.duration(one.seconds)}" for one in run.slowest)
            + "."
        )
    if run.causes:
        yield "Failures:"
        for cause in run.causes[:_CAUSES]:
            status = cause.status.replace("_", " ")
            yield f"  {cause.count:>5} {status}: {cause.words} (as {one_line(cause.example, 40)})"
        if (more := len(run.causes) - _CAUSES) > 0:
            yield f"  and {more} other causes"
    yield from (f"Note: {one_line(text, 200)}" for text in run.notices)


def write_report(path: Path, run: batch.BatchSnapshot, results: Path, redactor: Redactor) -> None:
    """Writes the page of a run whose results are in `results`, for this user alone and without the secrets that
    `redactor` knows. Blocks. Raises UsageError."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, disk.PRIVATE_FILE)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(f"{line}\n" for line in _Page(redactor).lines(run, _chosen(results)))
    except OSError as error:
        raise UsageError(f"--report {path}: {error.strerror or error}") from None


def _chosen(path: Path) -> list[batch.ItemResult]:
    """The newest result of each item, as many as fit."""
    failed: dict[str, batch.ItemResult] = {}
    good: dict[str, batch.ItemResult] = {}
    with open(path, "rb") as file:
        for line in file:
            try:
                result = batch.ItemResult.model_validate_json(line)
            except ValidationError:
                continue
            failed.pop(result.id, None)
            good.pop(result.id, None)
            kept = good if result.ok else failed
            if len(kept) < _MOST:
                kept[result.id] = result
    return [*failed.values(), *good.values()][:_MOST]


class _Page:
    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def lines(self, run: batch.BatchSnapshot, results: list[batch.ItemResult]) -> Iterator[str]:
        """The lines of the page."""
        title = f"Batch {run.name}"
        yield f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{self._text(title)}</title>'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        yield f"<style>{_STYLE}</style></head><body><h1>{self._text(title)}</h1><dl>"
        for name, value in _facts(run):
            yield f"<dt>{self._text(name)}</dt><dd>{self._text(value)}</dd>"
        yield "</dl>"
        if run.histogram:
            yield "<h2>Durations</h2><table>"
            most = max(bar.count for bar in run.histogram)
            for bar in run.histogram:
                drawn = f'<div class="bar" style="width:{bar.count / most * 100:.1f}%"></div>'
                yield f'<tr><td class="n">up to {batch.duration(bar.up_to)}</td><td class="n">{bar.count}</td>'
                yield f'<td style="width:70%">{drawn}</td></tr>'
            yield "</table>"
        if run.causes:
            yield "<h2>Failures by cause</h2><table><tr><th>Items</th><th>Status</th><th>Cause</th><th>As</th></tr>"
            for cause in run.causes:
                yield f'<tr><td class="n">{cause.count}</td><td class="bad">{cause.status}</td>'
                yield f"<td>{self._text(cause.words)}</td><td>{self._text(cause.example)}</td></tr>"
            yield "</table>"
        yield "<h2>Results</h2><table><tr><th>Item</th><th>Status</th><th>Time</th><th>Calls</th><th>Answer</th></tr>"
        for result in results:
            yield from self._row(result)
        yield "</table>"
        if (more := run.total - len(results)) > 0:
            yield f"<p>{more} more are not shown here: {self._text(run.results)} has all that have ended.</p>"
        yield "</body></html>"

    def _row(self, result: batch.ItemResult) -> Iterator[str]:
        bad = "" if result.ok else ' class="bad"'
        yield f"<tr><td>{self._text(result.id)}</td><td{bad}>{result.status.replace('_', ' ')}</td>"
        yield f'<td class="n">{batch.duration(result.seconds)}</td><td class="n">{len(result.calls)}</td><td>'
        if result.error:
            yield f"<pre{bad}>{self._text(result.error)}</pre>"
        if result.answer:
            yield f"<pre>{self._text(result.answer)}</pre>"
        if result.calls:
            yield "<details><summary>calls</summary><table>"
            for call in result.calls:
                yield f"<tr><td>{self._text(f'{call.server}.{call.tool}')}</td><td>{call.outcome}</td>"
                yield f'<td class="n">{call.duration_ms} ms</td><td><pre>{self._text(call.content)}</pre></td></tr>'
            yield "</table></details>"
        yield "</td></tr>"

    def _text(self, value: str) -> str:
        clean = self._redactor.clean(value)  # before it is cut: a half secret is found by nobody
        cut = f"{clean[:_LONGEST]} […]" if len(clean) > _LONGEST else clean
        return escape(visible(cut))


def _facts(run: batch.BatchSnapshot) -> Iterator[tuple[str, str]]:
    yield "Items", f"{run.ended + run.earlier} of {run.total} done" + (f", {run.earlier} before" if run.earlier else "")
    for status, count in run.counts.items():
        yield status.replace("_", " "), str(count)
    if run.ending:
        yield "Stopped", run.ending
    if run.started_at:  # else all of it is from before
        yield "Began", datetime.fromtimestamp(run.started_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        yield "Took", batch.duration(max(run.at - run.started_at, 0.0))
        yield "Calls", f"{run.calls}, {run.failed_calls} without success"
        yield "Tokens", f"{run.usage.input_tokens:,} in, {run.usage.output_tokens:,} out"
        yield "Cost", batch.money(run.usage.cost) or "not known"
    if run.slowest:
        yield "Slowest", ", ".join(f"{one.id} ({batch.duration(one.seconds)})" for one in run.slowest)
    for notice in run.notices:
        yield "Note", notice
