"""A call as text, with everything that is known of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from console_app.domain import call_description, plural
from console_app.domain.transcript import CallView

if TYPE_CHECKING:
    from console_app.mcp_client import RawMessage


def call_text(call: CallView, exchange: Sequence[RawMessage] = ()) -> str:
    """Return everything known of a call: request, times, the result as the model read it, and `exchange`, its messages
    on the wire."""
    arguments = (
        call.arguments_text if call.arguments is None else json.dumps(call.arguments, indent=2, ensure_ascii=False)
    )
    marks = (("ready", call.ready_at), ("started", call.started_at), ("finished", call.finished_at))
    times = [f"{what} after {at - call.announced_at:.2f} s" for what, at in marks if at is not None]
    lines = [
        f"call       {call.id}",
        f"tool       {call.label}   ({call.name} on the wire, {_origin(call)})",
        f"state      {call_description.in_words(call)}" + (f": {call.why}" if call.why else ""),
        *(
            [f"times      {', '.join(times)}" + (f"; ran {call.duration_ms / 1000:.2f} s" if call.duration_ms else "")]
            if times
            else []
        ),
        *(f"then       {words}" for words in call_description.acts_in_words(call)),
        "",
        "Request" + " (arguments edited by you)" * call.edited + " (arguments changed by a hook)" * call.hooked,
        arguments or "(no arguments yet)",
    ]
    if call.repaired:
        lines += ["", "Mended to read it", *call.repaired]
    if call.raw:
        lines += ["", "As the model wrote it", call.raw]
    if logged := log_lines(call):
        lines += ["", "Log", *logged]
    if call.error:
        lines += ["", "Error", call.error]
    if call.artifacts:
        lines += ["", "Files", *(f"{a.name}   {a.mime}   {a.path or a.uri}" for a in call.artifacts)]
    if call.outcome is not None:
        lines += ["", f"Result ({plural(len(call.content), 'character')})", call.content]
    for message in exchange:
        at = f"+{message.at - call.announced_at:.3f} s"
        lines += ["", f"JSON-RPC {'→ sent' if message.sent else '← received'} at {at}", message.text]
    return "\n".join(lines)


def log_lines(call: CallView) -> list[str]:
    lines: list[str] = []
    if older := call.logged - sum(1 + line.dropped for line in call.log):
        lines.append(f"… {older:,} older")
    for line in call.log:
        if line.dropped:
            lines.append(f"… {line.dropped:,} more that came too fast to keep")
        lines.append(f"{line.level}: {line.text}")
    return lines


def _origin(call: CallView) -> str:
    return "native" if call.origin == "native" else f"read from text, {call.dialect}".rstrip(", ")


LOG_TAIL = 1_000_000  # bytes that are shown


def tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - LOG_TAIL, 0))
            data = file.read()
    except OSError:
        return f"The log is empty; it will be {path}."
    text = data.decode("utf-8", errors="replace")
    return text if size <= LOG_TAIL else text.partition("\n")[2]
