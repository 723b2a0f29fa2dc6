"""/context: what the model reads of the conversation, and what the next request would be made of."""

from __future__ import annotations

from console_app.domain import amounts, plural, ports
from console_app.domain.transcript import Transcript
from console_app.engine import NEARLY_FULL, Engine

_BAR = 30  # cells of the meter


def context_report(engine: Engine, transcript: Transcript, window: int | None) -> str:
    """What /context shows: a meter, and what the next request would be made of."""
    used = transcript.usage.context
    lines: list[str] = []
    if window:
        share = min(used / window, 1.0)
        filled = round(share * _BAR)
        lines.append(f"{'█' * filled}{'░' * (_BAR - filled)}  {used:,} of {window:,} tokens ({share:.0%})")
        lines.append(f"Compacts automatically from {NEARLY_FULL:.0%} on, before the next request.")
    else:
        lines.append(
            f"{used:,} tokens in the newest request; how many fit is not known (context_window, in /config providers)."
        )
    lines.append(f"Tools are offered by protocol {ports.protocol_label(engine.provider)}; /protocol changes it.")
    if (licence := ports.licence_of(engine.provider)) is not None:
        lines.append(
            f"{engine.provider.model} writes calls as {licence.form}: {licence.source}; /protocol auto forgets it."
        )
    usage = transcript.usage
    if usage.cached_tokens:
        share = usage.cached_tokens / max(usage.input_tokens, 1)
        lines.append(
            f"{usage.cached_tokens:,} of {usage.input_tokens:,} tokens sent so far came from the cache ({share:.0%})."
        )
    lines += ["", f"The next request, counted at {amounts.CHARACTERS_A_TOKEN} characters a token:"]
    lines += [
        f"  {part.name:<13} {_column(part.tokens, 'token', 9)}   {_column(part.messages, 'part', 5)}".rstrip()
        for part in engine.context_parts(transcript)
    ]
    lines += [
        "",
        f"Results of more than {engine.settings.max_result_chars:,} characters lose their middle (max_result_chars).",
    ]
    if count := len(transcript.shortened):
        lines += [
            "",
            f"Shortened further because a request was too large: {count:,}.",
        ]
    if (compaction := transcript.compaction) is not None:
        lines += [
            "",
            f"A summary stands for the oldest {plural(compaction.covers, 'message')}:",
            "",
            compaction.summary,
        ]
    return "\n".join(lines)


def _column(count: int, word: str, width: int) -> str:
    """`count` of `word`, so that numbers stand below each other, and what follows too."""
    number, _, noun = plural(count, word).partition(" ")
    return f"{number:>{width}} {noun:<{len(word) + 1}}"
