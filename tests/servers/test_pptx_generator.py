"""The presentation server: the files it makes open, hold what the Markdown said, and replace no other file."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pptx import Presentation

from console_app.domain.tools import Outcome
from console_app.servers.parts.pptx_writer import LINES_A_SLIDE, pptx_bytes, read_slides
from tests.each import each
from tests.servers.conftest import Serve

TALK = """# Parallel computing

An *introduction*

## Why

- Many **cores**
    - even `phones`
        1. have eight
        2. or ten
- [More](https://example.org/a)

Notes: speak slowly

## How

Threads & processes < "tasks".

```python
async with TaskGroup() as group:
	group.create_task(work())
```

### And then

> wait

| way | cost |
| --- | --- |
| thread | 8 MB |
| task | 1 kB |

---

The end ![a picture](cat.png)

<!-- thank the audience -->
"""


def opened(content: bytes | Path) -> Any:
    return Presentation(str(content) if isinstance(content, Path) else io.BytesIO(content))


def texts(slide: Any) -> list[tuple[int, str]]:
    return [
        (line.level, line.text)
        for shape in slide.placeholders
        if shape.placeholder_format.idx == 1
        for line in shape.text_frame.paragraphs
    ]


async def test_markdown_becomes_a_file_that_opens_and_is_linked_by_name_and_size(serve: Serve, work: Path) -> None:
    bench = await serve("pptx_generator")
    result = await bench.call("markdown_to_pptx", markdown_content=TALK, file_name="talk")
    path = work / "talk.pptx"
    assert result.outcome is Outcome.SUCCEEDED
    assert result.content.splitlines()[0] == f"Saved {path} (4 slides)."
    (artifact,) = result.artifacts
    assert (artifact.name, artifact.uri, artifact.size) == ("talk.pptx", path.as_uri(), path.stat().st_size)
    assert artifact.mime.endswith("presentationml.presentation")
    assert len(result.content) < 500
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
    assert [slide.shapes.title.text for slide in opened(path).slides][:3] == ["Parallel computing", "Why", "How"]
    hints = bench.spec("markdown_to_pptx").annotations
    assert (hints.read_only, hints.destructive) == (False, False)


def test_lists_code_tables_links_and_notes_are_where_they_belong() -> None:
    opening, why, how, end = opened(pptx_bytes(read_slides(TALK))).slides
    assert texts(opening) == [(0, "An introduction")]
    assert texts(why) == [
        (0, "Many cores"),
        (1, "even phones"),
        (2, "1. have eight"),
        (2, "2. or ten"),
        (0, "More"),
    ]
    runs = [run for line in why.placeholders[1].text_frame.paragraphs for run in line.runs]
    assert [run.text for run in runs if run.font.bold] == ["cores"]
    assert [run.text for run in runs if run.font.name] == ["phones"]
    assert [(run.text, run.hyperlink.address) for run in runs if run.hyperlink.address] == [
        ("More", "https://example.org/a")
    ]
    assert why.notes_slide.notes_text_frame.text == "speak slowly"
    assert [text for _, text in texts(how)] == [
        'Threads & processes < "tasks".',
        "async with TaskGroup() as group:\v    group.create_task(work())",
        "And then",
        "wait",
    ]
    (table,) = [shape.table for shape in how.shapes if shape.has_table]
    assert [[cell.text for cell in row.cells] for row in table.rows][1:] == [["thread", "8 MB"], ["task", "1 kB"]]
    assert texts(end) == [(0, "The end [picture: a picture]")]
    assert end.notes_slide.notes_text_frame.text == "thank the audience"


async def test_a_file_that_is_there_is_never_overwritten(serve: Serve, work: Path) -> None:
    (work / "deck.pptx").write_text("mine")
    (work / "deck-2.pptx").symlink_to("nowhere")
    bench = await serve("pptx_generator")
    result = await bench.call("markdown_to_pptx", markdown_content="# Deck")
    assert result.artifacts[0].name == "deck-3.pptx"
    assert (work / "deck.pptx").read_text() == "mine"
    assert not (work / "nowhere").exists()


async def test_the_folder_for_files_can_be_named(serve: Serve, work: Path, tmp_path: Path) -> None:
    bench = await serve("pptx_generator", FANOUT_FILES=str(tmp_path / "out" / "decks"))
    await bench.call("markdown_to_pptx", markdown_content="# One\n# Two", file_name="a.PPTX")
    assert [path.name for path in (tmp_path / "out" / "decks").iterdir()] == ["a.pptx"]
    assert list(work.iterdir()) == []


@each(
    ("arguments", "why"),
    [
        ({"markdown_content": "# A", "file_name": "../a.pptx"}, "not the name of a file"),
        ({"markdown_content": "# A", "file_name": "/x/a"}, "not the name of a file"),
        ({"markdown_content": "# A", "file_name": ".pptx"}, "is empty"),
        ({"markdown_content": " \n"}, "nothing in the text"),
        ({"markdown_content": "x" * 500_001}, "longer than"),
        ({"markdown_content": "# a\n" * 301}, "301 slides"),
        ({}, "is missing"),
    ],
)
async def test_what_makes_no_file_says_why(serve: Serve, work: Path, arguments: dict[str, Any], why: str) -> None:
    bench = await serve("pptx_generator")
    result = await bench.call("markdown_to_pptx", **arguments)
    assert result.outcome is Outcome.FAILED
    assert why in result.content
    assert list(work.iterdir()) == []


def test_a_long_slide_goes_on_with_its_title_on_the_next() -> None:
    slides = read_slides("## Long\n\n" + "\n".join(f"- point {number}" for number in range(30)))
    assert [slide.title for slide in slides] == ["Long", "Long (continued)", "Long (continued)"]
    slides = read_slides("## Code\n\n```\n" + "x = 1\n" * 40 + "```")
    assert len(slides) == -(-40 // LINES_A_SLIDE)
    slides = read_slides("## Rows\n\n|a|\n|-|\n" + "|1|\n" * 25)
    assert [len(block.rows) for slide in slides for block in slide.blocks] == [12, 12, 4]  # type: ignore[union-attr]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["# ", "- ", "  - ", "1. ", "> ", "```", "|a|b|\n|-|-|\n", "---", "\n", "Notes: ", "<!--"]),
            st.text(max_size=12),
        ),
        max_size=25,
    ).map("".join)
)
def test_any_text_gives_a_file_that_opens(markdown: str) -> None:
    slides = read_slides(markdown)
    if slides:
        assert len(opened(pptx_bytes(slides)).slides) == len(slides)
