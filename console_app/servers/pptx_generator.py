"""A server that makes PowerPoint files of Markdown. Run it as `python -m console_app.servers.pptx_generator`.

The file goes into the folder that FANOUT_FILES names, else into the one that the server was started in.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from console_app.servers.parts.folders import file_name, name_from, save_new
from console_app.servers.parts.server import (
    READS,
    Arguments,
    CallContext,
    StdioServer,
    Tool,
    ToolFailedError,
    ToolOutput,
    counted,
    schema,
)

MIME = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
SUFFIX = ".pptx"
LARGEST_TEXT = 500_000  # characters
MOST_SLIDES = 300


async def markdown_to_pptx(arguments: Arguments, context: CallContext) -> ToolOutput:
    markdown: str = arguments["markdown_content"]
    if len(markdown) > LARGEST_TEXT:
        raise ToolFailedError(f"The text is longer than {LARGEST_TEXT:,} characters.")
    wanted_name = arguments.get("file_name") or ""
    name = file_name(wanted_name, SUFFIX) if wanted_name.strip() else ""
    path, link, count = await asyncio.to_thread(_make, markdown, name)
    return ToolOutput(f"Saved {path} ({counted(count, 'slide')}).", files=(link,))


def _make(markdown: str, name: str) -> tuple[Path, dict[str, Any], int]:
    from console_app.servers.parts.pptx_writer import pptx_bytes, read_slides  # python-pptx: 0.5 s

    slides = read_slides(markdown)
    if not slides:
        raise ToolFailedError("There is nothing in the text to put on a slide.")
    if len(slides) > MOST_SLIDES:
        raise ToolFailedError(f"The text makes {len(slides)} slides; the limit is {MOST_SLIDES}.")
    name = name or name_from(slides[0].title, SUFFIX, "presentation")
    return *save_new(name, pptx_bytes(slides), MIME), len(slides)


MARKDOWN_TO_PPTX = Tool(
    markdown_to_pptx,
    "Makes a PowerPoint file of Markdown and saves it. `# ` and `## ` headings begin slides (so does `---`) and are "
    "their titles; lists keep their levels; paragraphs, code, tables and quotes are shown; a paragraph that begins "
    "with `Notes:`, or an HTML comment, becomes speaker notes. An existing file is never overwritten.",
    {
        "markdown_content": schema("string", "The slides in Markdown."),
        "file_name": schema("string", "Name of the file, without a folder; else made of the title."),
    },
    {"title": "Make a presentation", **dict.fromkeys(READS, False)},
    optional=("file_name",),
)


if __name__ == "__main__":
    StdioServer("fanout-pptx-generator", (MARKDOWN_TO_PPTX,)).run()
