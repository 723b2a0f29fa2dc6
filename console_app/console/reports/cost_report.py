"""/cost: what the requests of a session took, in tokens and money, in all and by turn."""

from __future__ import annotations

from console_app.domain import one_line, plural
from console_app.domain.transcript import Transcript

MOST_TURNS = 200  # the newest
_UNPRICED = "What the model's tokens cost is not known."


def cost_report(transcript: Transcript) -> str:
    """What /cost shows. A request that names no tokens counts none."""
    usage = transcript.usage
    lines = [
        f"Input   {usage.input_tokens:>12,} tokens",
        f"  cached {usage.cached_tokens:>11,} tokens of these came from the provider's cache",
        f"Output  {usage.output_tokens:>12,} tokens",
        f"Cost    {_dollars(usage.cost)}" if usage.cost is not None else _UNPRICED,
    ]
    turns = transcript.turns[-MOST_TURNS:]
    if turns:
        lines += ["", "Turn       Tokens      Cost  What was asked"]
    for turn in turns:
        lines.append(f"{turn.number:>4} {turn.tokens:>12,} {_dollars(turn.cost):>9}  {one_line(turn.prompt, 60)}")
    if len(turns) < len(transcript.turns):
        lines.append(f"{plural(len(transcript.turns) - len(turns), 'turn')} before these: in the sums.")
    return "\n".join(lines)


def _dollars(cost: float | None) -> str:
    return "–" if cost is None else f"${cost:.4f}"
