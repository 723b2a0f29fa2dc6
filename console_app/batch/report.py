"""A batch that has ended, summed up in a few lines."""

from __future__ import annotations

from collections.abc import Iterator

from console_app.domain import batch, one_line, plural

_BAR = 30  # characters of the longest bar
_CAUSES = 8


def summary(run: batch.BatchSnapshot) -> Iterator[str]:
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
