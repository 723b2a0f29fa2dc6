"""Writes the final answer from the results of a turn, by call id and in call order.

Results are foreign text: they stand in code spans and fences and never become Markdown of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from console_app.domain.safe_text import one_line, visible
from console_app.domain.tools import FAILED, Outcome
from console_app.providers.offline.conversation import Called
from console_app.providers.offline.toolbox import OfflineTools

_BRIEF = 200  # characters of a result in a line or a table cell
_LINES, _BLOCK = 12, 1_500  # lines and characters of a result shown as a block

_FAILED: dict[Outcome, tuple[str, str]] = {
    Outcome.FAILED: ("failed", "On the panel of a failed call, `r` runs it again and `e` edits its arguments."),
    Outcome.TIMED_OUT: (
        "ran out of time",
        "`r` on its panel runs it again; mcp.json can give its server a longer `timeout`.",
    ),
    Outcome.INVALID: ("was not run", "Arguments that could not be read can be edited with `e` on the panel."),
    Outcome.INTERRUPTED: ("was interrupted", "What was interrupted can be asked for again."),
    Outcome.CANCELLED: ("was cancelled by you", ""),
    Outcome.DENIED: ("was denied by you", ""),
    Outcome.BLOCKED: ("was held back", ""),
    Outcome.SKIPPED: ("was put off", "What was put off can be asked for again."),
}
_NOT_RUN = "This call was not run:"


def report(called: Sequence[Called], tools: OfflineTools) -> str:
    """The answer to a turn whose calls are all done, as Markdown."""
    good = [one for one in called if one.result.outcome is Outcome.SUCCEEDED]
    bad = [one for one in called if one.result.outcome is not Outcome.SUCCEEDED]
    parts: list[str] = []
    if len(good) > 1 and all(_expression(one) is not None for one in good):
        rows = "\n".join(f"| {_cell(_expression(one) or '')} | {_cell(one.result.content)} |" for one in good)
        parts.append(f"Here are the results:\n\n| Expression | Result |\n| :-- | :-- |\n{rows}")
    elif good:
        parts.append("\n".join(_good(one, tools) for one in good))
    if bad:
        parts.append("\n".join(_bad(one, tools) for one in bad))
        closing = [f"{len(good)} of {len(called)} calls succeeded."] if good else []
        closing += [_FAILED[outcome][1] for outcome in dict.fromkeys(one.result.outcome for one in bad)]
        parts.append(" ".join(filter(None, closing)))
    return "\n\n".join(filter(None, parts))


def failures(called: Sequence[Called]) -> int:
    """How many of the calls count as failed."""
    return sum(one.result.outcome.is_error for one in called)


def code(text: str, limit: int = _BRIEF) -> str:
    """`text` on one line as a code span that nothing in it can end."""
    text = one_line(text, limit)
    fence = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text[:1] == "`" or text[-1:] == "`" or not text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _cell(text: str) -> str:
    return code(text).replace("|", "\\|")


def _good(one: Called, tools: OfflineTools) -> str:
    content = one.result.content.strip()
    expression = _expression(one)
    if expression is not None:
        return f"- {code(expression)} = {code(content)}"
    head = f"- **{_title(one, tools)}**"
    if not content:
        return f"{head}: done, with nothing to show."
    if "\n" not in content and len(content) <= _BRIEF:
        return f"{head}: {code(content)}"
    return f"{head}:\n\n{_block(content)}\n"


def _block(content: str) -> str:
    """The beginning of a long result, fenced, with what was left out said."""
    shown = visible("\n".join(line[:300] for line in content[: _BLOCK * 4].split("\n")[:_LINES])[:_BLOCK])
    fence = "`" * max(3, max((len(run) for run in re.findall(r"`+", shown)), default=0) + 1)
    block = f"{fence}\n{shown}\n{fence}"
    if len(shown) < len(content):
        block += "\n\nThat is its beginning; the panel has the whole."
    return block


def _bad(one: Called, tools: OfflineTools) -> str:
    why = one_line(one.result.content, _BRIEF).removeprefix(FAILED).rstrip(".")
    what = _FAILED[one.result.outcome][0]
    if why.startswith(_NOT_RUN):  # it asked, and nobody answered
        what, why = "was not run", why.removeprefix(_NOT_RUN).lstrip()
    expression = _expression(one)
    name = code(expression) if expression is not None else f"**{_title(one, tools)}**"
    return f"- {name} {what}" + (f": {code(why)}." if why else ".")


def _title(one: Called, tools: OfflineTools) -> str:
    """`server.tool` with the shortest of its arguments, to tell two calls of one tool apart."""
    label = one_line(tools.label(one.call.name), 80).replace("*", "")
    values = [value for value in arguments_of(one).values() if isinstance(value, str) and 0 < len(value) <= 60]
    return f"{label} ({code(values[0], 60)})" if values else label


def _expression(one: Called) -> str | None:
    """The expression of a calculator's call: the only argument, named so."""
    arguments = arguments_of(one)
    only = next(iter(arguments.items()), None) if len(arguments) == 1 else None
    return only[1] if only and only[0] in ("expression", "expr") and isinstance(only[1], str) else None


def arguments_of(one: Called) -> dict[str, Any]:
    """The arguments of a call; none where they can't be read."""
    try:
        value = json.loads(one.call.arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
