"""A batch that has ended as a page: its figures, why items failed, and each item on a lane with all its calls."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from console_app.config.files import disk
from console_app.config.secrets import Redactor
from console_app.domain import CallState, UsageError, batch, plural, safe_text
from console_app.domain.transcript import BatchView, CallView
from console_app.page.calls import WIDTH, CallEvents, CallsOnPage
from console_app.page.document import document, facts, written
from console_app.page.texts import Texts

MOST = 2_000  # results of a page, those that failed first


def write_batch(path: Path, run: batch.BatchSnapshot, results: Path, redactor: Redactor) -> None:
    """Writes the page of a run whose results are in `results`, for this user alone and without the secrets that
    `redactor` knows. Blocks. Raises UsageError."""
    texts = Texts(redactor.clean)
    title = f"Batch {redactor.clean(run.name)}"
    try:
        body = _body(title, run, _chosen(results, redactor), texts)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, disk.PRIVATE_FILE)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(document(title, body))
    except OSError as error:
        raise UsageError(f"--report {path}: {error.strerror or error}") from None


def _chosen(path: Path, redactor: Redactor) -> list[batch.ItemResult]:
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
            if len(kept) < MOST:
                kept[result.id] = result
    chosen = [*failed.values(), *good.values()][:MOST]
    # Without secrets before anything of it is cut: half a secret is found by nobody.
    cleaned = (safe_text.changed(one.model_dump(mode="json"), str, redactor.clean) for one in chosen)
    return [batch.ItemResult.model_validate(one) for one in cleaned]


def _body(title: str, run: batch.BatchSnapshot, results: Sequence[batch.ItemResult], texts: Texts) -> Iterator[str]:
    yield f"<h1>{texts.line(title)}</h1>"
    yield facts((texts.line(name), texts.line(value)) for name, value in _facts(run))
    if run.histogram:
        yield "<h3>Durations</h3><div class='wide'><table>"
        most = max(bar.count for bar in run.histogram)
        for bar in run.histogram:
            drawn = f'<rect class="bar" height="12" width="{bar.count / most * 300:.0f}"/>'
            yield f'<tr><td class="n">up to {batch.duration(bar.up_to)}</td><td class="n">{bar.count}</td>'
            yield f'<td><svg viewBox="0 0 300 12" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg></td></tr>'
        yield "</table></div>"
    if run.causes:
        yield "<h3>Failures by cause</h3>"
        told = [[str(one.count), one.status.replace("_", " "), one.words, one.example] for one in run.causes]
        yield texts.table(("Items", "Status", "Cause", "As"), told, len(told))
    yield "<h3>Results</h3>"
    begin = min((one.started_at for one in results), default=0.0)
    end = max((one.finished_at for one in results), default=0.0)
    yield f'<section class="batch" aria-label="{plural(len(results), "item")}">'
    if end > begin:
        yield (
            '<div class="time"><button type="button" class="play" aria-label="Play these items">Play</button>'
            f'<input type="range" min="0" max="{WIDTH}" value="{WIDTH}" data-seconds="{end - begin:.3f}" '
            'aria-label="Time, from the first item to the last"><output></output></div>'
        )
    for result in results:
        yield from _item(result, texts, begin, end)
    yield "</section>"
    if (more := run.total - len(results)) > 0:
        yield f"<p>{more} more are not shown here: {texts.line(run.results)} has all that have ended.</p>"


def _item(result: batch.ItemResult, texts: Texts, begin: float, end: float) -> Iterator[str]:
    mood, sign, ink = ("good", "✓", "success") if result.ok else ("bad", "✗", "error")
    status = result.status.replace("_", " ")
    answer = result.error or " ".join(result.answer.split())
    lane = ""
    if end > begin:
        scale = WIDTH / (end - begin)
        bar = f'x="{(result.started_at - begin) * scale:.1f}" width="{max(result.seconds * scale, 2):.1f}" height="8"'
        lane = (
            f'<span class="lanes" aria-hidden="true"><svg viewBox="0 0 {WIDTH} 8" preserveAspectRatio="none">'
            f'<rect class="run" {bar}/></svg></span>'
        )
    name = texts.line(result.id)
    yield (
        f'<details class="call item {mood}" data-unit><summary><span class="line"><span class="aloud">{status}: </span>'
        f'<span class="came"><span class="{ink}">{sign}</span> <span class="strong">{name}</span> '
        f"{'' if result.ok else f'<span class=error>{status}</span> '}"
        f'<span class="muted">{texts.line(answer[:160])}</span></span></span>'
        f'<span class="took">{batch.duration(result.seconds)}</span>{lane}'
        '</summary><div class="inside">'
    )
    if result.error:
        yield f"<h3>Error</h3>{texts.block(result.error)}"
    if result.answer:
        yield f"<h3>Answer</h3>{texts.markdown(result.answer)}"
    if result.structured is not None:
        yield f"<h3>Answer as JSON</h3>{texts.json(result.structured)}"
    calls = [
        CallView(
            f"{result.id}.{number}",
            number,
            one.tool,
            one.server,
            one.tool,
            "native",
            result.started_at,
            state=CallState.FINISHED,
            arguments=one.arguments,
            ready_at=result.started_at,
            started_at=result.started_at,
            finished_at=result.started_at,
            outcome=one.outcome,
            content=one.content,
            error=one.error,
            duration_ms=one.duration_ms,
        )
        for number, one in enumerate(result.calls)
    ]
    yield from written(CallsOnPage(texts, CallEvents(), result.finished_at).batch(BatchView(calls), "calls", "", {}))
    used = result.usage
    price = batch.money(used.cost) or "price not known"
    about = [("Model", result.model), ("Tokens", f"{used.input_tokens:,} in, {used.output_tokens:,} out, {price}")]
    about += [("Source", result.source)] * bool(result.source)
    yield facts((name, texts.line(value)) for name, value in about if value)
    yield "</div></details>\n"


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
