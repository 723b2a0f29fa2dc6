"""A batch in words: how far it is as one line, times and money."""

from __future__ import annotations

from console_app.domain.amounts import tokens
from console_app.domain.batch_progress import BatchSnapshot


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < 10:
        return f"{seconds:.2g} s" if seconds < 1 else f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def money(cost: float | None) -> str:
    """Dollars with as many digits as tell anything; "" where no price is known."""
    if cost is None:
        return ""
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}"


def line(run: BatchSnapshot) -> str:
    """How far it is."""
    parts = [f"{run.ended + run.earlier}/{run.total} done"]
    if run.failed:
        parts.append(f"{run.failed} failed")
    if run.running:
        parts.append(f"{len(run.running)} running")
    if run.rate:
        parts.append(f"{run.rate:.1f}/s" if run.rate >= 0.1 else f"{run.rate * 60:.1f}/min")
    if run.paused >= 1:
        parts.append(f"asked to wait {duration(run.paused)}")
    if run.seconds_left is not None:
        parts.append(f"{duration(run.seconds_left)} left")
    if run.usage.input_tokens or run.usage.output_tokens:
        parts.append(f"{tokens(run.usage.input_tokens + run.usage.output_tokens)} tokens")
    if run.usage.cost is not None:
        parts.append(money(run.usage.cost))
    if run.state == "stopping":
        parts.append("stopping")
    return " · ".join(parts)
