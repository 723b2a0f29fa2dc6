"""The rule for presentations: a titled draft in Markdown for the tool that makes a PowerPoint file of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console_app.providers.offline.rule import (
    COUNT,
    QUOTED,
    AnswerRule,
    AskedPrompt,
    Match,
    OfflineTools,
    RuleFinding,
    count_of,
    missing,
    unquoted,
)

_SLIDES = re.compile(
    rf"\b(?:create|make|write|build|generate|prepare|draft)\s+(?:me\s+)?(?:an?\s+)?(?:({COUNT})[\s-]slides?\s+)?"
    r"(?:short\s+|new\s+)?(?:powerpoint|pptx|presentation|slides?|slide\s+deck|deck)(?:\s+(?:presentation|deck|file))?"
    rf"\s+(?:about|on|for|titled|called)\s+({QUOTED}|[^.\n;?!,]{{1,120}}?)"
    r"(?=\s+and\s+(?:also\s+)?(?:calculate|compute|work|read|list|search|look|get|add|update|create|run|show|find)\b"
    r"|\s*(?:[.\n;?!,]|$))",
    re.IGNORECASE,
)
_POINTS = ("What it is", "Why it matters", "An example")
_MOST_SLIDES = 20


def _maker(tools: OfflineTools) -> Match | None:
    return tools.find(
        ("markdown_to_pptx", "create_pptx", "create_presentation"),
        markdown=("markdown_content", "markdown", "content"),
        maybe_file=("file_name", "filename"),
    )


def _draft(topic: str, slides: int) -> str:
    """Return an outline that claims no knowledge of the topic: a heading and open points a slide."""
    title = topic[:1].upper() + topic[1:]
    note = "- Outline by Fanout's offline model: fill in the points"
    if slides == 1:
        return "\n".join((f"# {title}", "", *(f"- {point}" for point in _POINTS), note)) + "\n"
    parts = [f"# {title}\n\n{note}\n"]
    for number in range(2, min(slides, _MOST_SLIDES) + 1):
        point = _POINTS[number - 2] if number - 2 < len(_POINTS) else f"Point {number - 1}"
        parts.append(f"# {point}\n\n- {title}\n")
    return "\n".join(parts)


def _read(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    for found in _SLIDES.finditer(asked.text):
        tool = _maker(tools)
        if tool is None:
            yield missing(found.span(), "make a presentation", "pptx_generator.markdown_to_pptx")
            continue
        topic = unquoted(found[2])
        file = re.sub(r"[^\w]+", "_", topic.lower()).strip("_")[:60] or "slides"
        call = tool.call(markdown=_draft(topic, count_of(found[1])), file=f"{file}.pptx")
        yield RuleFinding(found.span(), (call,))


SLIDES = AnswerRule(
    can="draft an outline as slides: `create a one-slide PowerPoint about parallel computing`",
    able=lambda tools: _maker(tools) is not None,
    read=_read,
)
