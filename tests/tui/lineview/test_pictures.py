"""A picture of a result is drawn in its open panel, is named in a few words else, and never holds the console up."""

from __future__ import annotations

import base64
import os
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from rich.color import Color
from textual.pilot import Pilot

from console_app.domain import events as ev
from console_app.domain.messages import Attachment
from console_app.domain.tools import Artifact, CallState, Outcome, ToolResult
from console_app.engine.calls.results import of_tool
from console_app.line_console.wording import came_of
from console_app.mcp_client.tools.convert import ResultFiles
from console_app.tui.lineview import CallBlock, UserBlock
from console_app.tui.lineview.results.picture import MOST_DRAWN, MOST_ROWS
from tests.each import each
from tests.patience import until_there
from tests.tui.lineview.scenes import PALETTE, START, TinyApp, painted, screen_lines
from tests.tui.lineview.test_blocks import a_call, assert_clean, panel, shown
from tests.tui.parts import until


def chart(path: Path, sides: tuple[int, int] = (640, 480)) -> Path:
    """Red on its left half, blue on its right, with a green disc."""
    picture = Image.new("RGB", sides, (200, 30, 30))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((sides[0] // 2, 0, *sides), fill=(30, 30, 200))
    draw.ellipse((sides[0] // 4, sides[1] // 4, sides[0] * 3 // 4, sides[1] * 3 // 4), fill=(40, 180, 60))
    picture.save(path)
    return path


def saved(path: Path, folder: Path, text: str = "") -> ToolResult:
    """The result of a tool that sent the file, with what is said of it to the model."""
    mime = f"image/{path.suffix[1:].replace('jpg', 'jpeg')}"
    data = base64.b64encode(path.read_bytes()).decode()
    said, artifact = ResultFiles(folder).save(data, mime, path.name, "image")
    assert artifact is not None
    content = f"{text}\n{said}" if text else said
    return of_tool(ToolResult(outcome=Outcome.SUCCEEDED, content=content, artifacts=(artifact,)))


def block_of(result: ToolResult) -> CallBlock:
    call = a_call(CallState.FINISHED, outcome=result.outcome, content=result.content, artifacts=result.artifacts)
    call.arguments = {}
    return panel(call)


def at_path(path: Path | str, mime: str = "image/png") -> CallBlock:
    block = block_of(ToolResult(outcome=Outcome.SUCCEEDED, content="", artifacts=(
        Artifact(name="plot.png", mime=mime, path=str(path), size=2048),)))  # fmt: skip
    block.toggle()
    return block


def drawn(block: CallBlock, width: int = 100) -> str:
    """Gives the text of an open panel once its pictures were read."""
    shown(block, width)

    def is_there() -> bool:
        shown(block, width)
        return not block.detail.awaits_a_picture

    until_there(is_there, "the picture")
    return shown(block, width)


@each("ending", ["png", "jpg", "gif", "webp"])
def test_an_open_panel_draws_the_picture_in_its_own_colours_and_shape(tmp_path: Path, ending: str) -> None:
    result = saved(chart(tmp_path / f"chart.{ending}"), tmp_path / "files")
    block = block_of(result)
    block.toggle()
    reading = shown(block, 100)
    text = drawn(block)
    rows = [line for line in block.render(100, PALETTE, START) if "▀" in line.text]
    assert len(rows) == MOST_ROWS
    assert rows[0].text.count("▀") == round(640 * 2 * MOST_ROWS / 480)
    inks = [segment.style for segment in rows[0] if "▀" in segment.text]
    left, right = inks[0], inks[-1]
    assert left is not None
    assert left.color is not None
    assert right is not None
    assert right.bgcolor is not None
    assert abs(left.color.get_truecolor().red - 200) < 12
    assert abs(right.bgcolor.get_truecolor().blue - 200) < 12
    assert {"png": "640x480 PNG", "jpg": "640x480 JPEG", "gif": "640x480 GIF", "webp": "640x480 WebP"}[ending] in text
    assert reading.count("\n") == text.count("\n"), "its place is kept for it while it is read"
    assert "▀" not in block.copy_text
    assert not [line for line in rows if line.content]
    assert_clean(block, 100)


def test_its_row_says_what_it_is_and_what_the_model_is_told_only_the_raw_view_says(tmp_path: Path) -> None:
    result = saved(chart(tmp_path / "chart.png"), tmp_path / "files")
    assert "to models that see" in result.content
    block = block_of(result)
    row = shown(block)
    assert "picture, 640x480 PNG · " in row
    assert "of type" not in row
    assert "Fanout" not in row
    assert "line" not in row
    block.toggle()
    assert "of type" not in drawn(block)
    assert "models that see" not in shown(block)
    assert "raw" in block.detail.keys
    block.detail.press("raw")
    block.touch()
    raw = drawn(block)
    assert "image of type image/png" in raw
    assert "models that see" in raw
    assert "▀" not in raw


def test_text_beside_a_picture_is_what_its_row_says(tmp_path: Path) -> None:
    block = block_of(saved(chart(tmp_path / "chart.png"), tmp_path / "files", "Sales by month"))
    row = shown(block)
    assert "Sales by month" in row
    assert "of type" not in row
    assert "chart.png" in row
    block.toggle()
    text = drawn(block)
    assert "result · 1 line" in text
    assert "▀" in text
    assert "of type" not in text


def test_words_of_the_same_form_that_name_no_file_of_the_call_stay(tmp_path: Path) -> None:
    text = "[image of type image/png, 12 bytes, saved as /etc/passwd]"
    assert "/etc/passwd" in shown(block_of(saved(chart(tmp_path / "chart.png"), tmp_path / "files", text)), 160)


def test_a_small_picture_is_not_blown_up_and_one_on_its_side_stands(tmp_path: Path) -> None:
    small = at_path(chart(tmp_path / "small.png", (12, 6)))
    drawn(small)
    assert [line.text.count("▀") for line in small.render(100, PALETTE, START) if "▀" in line.text] == [12] * 3
    wide = Image.open(chart(tmp_path / "wide.png", (60, 20)))
    turned = wide.getexif()
    turned[0x0112] = 6
    wide.save(tmp_path / "turned.jpg", exif=turned)
    block = at_path(tmp_path / "turned.jpg", "image/jpeg")
    drawn(block)
    rows = [line.text.count("▀") for line in block.render(100, PALETTE, START) if "▀" in line.text]
    assert len(rows) == MOST_ROWS
    assert set(rows) == {13}


def test_where_a_picture_is_open_the_ground_is_seen_and_sixteen_bits_of_grey_stay_grey(tmp_path: Path) -> None:
    Image.new("RGBA", (4, 4), (255, 255, 255, 0)).save(tmp_path / "open.png")
    ground = PALETTE.base.bgcolor
    assert ink_of(tmp_path / "open.png") == ground
    Image.new("I;16", (4, 4), 0x8000).save(tmp_path / "grey.png")
    assert ink_of(tmp_path / "grey.png") == Color.from_rgb(128, 128, 128)


def ink_of(path: Path) -> Color | None:
    block = at_path(path)
    drawn(block)
    line = next(line for line in block.render(100, PALETTE, START) if "▀" in line.text)
    style = next(segment.style for segment in line if "▀" in segment.text)
    assert style is not None
    return style.color


def test_what_cannot_be_drawn_is_one_line(tmp_path: Path) -> None:
    whole = chart(tmp_path / "chart.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    assert "can't be drawn: damaged" in drawn(at_path(tmp_path / "cut.png"))
    (tmp_path / "words.png").write_text("no picture at all")
    assert "can't be drawn: damaged" in drawn(at_path(tmp_path / "words.png"))
    assert "can't be drawn: its file is gone" in drawn(at_path(tmp_path / "nothing.png"))
    os.mkfifo(tmp_path / "pipe.png")
    assert "can't be drawn: it is a named pipe" in drawn(at_path(tmp_path / "pipe.png"))
    assert "can't be drawn: it is a device" in drawn(at_path("/dev/zero"))
    assert "can't be drawn" in drawn(at_path("a\0b.png"))
    (tmp_path / "drawing.png").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 100 100\n")
    assert "can't be drawn" in drawn(at_path(tmp_path / "drawing.png"))


def test_a_picture_that_would_burst_is_not_decoded(tmp_path: Path) -> None:
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 6, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1_000_000)))
    (tmp_path / "bomb.png").write_bytes(bomb + chunk(b"IEND", b""))
    block = block_of(saved(tmp_path / "bomb.png", tmp_path / "files"))
    assert "picture, 60000x60000 PNG" in shown(block)
    block.toggle()
    text = drawn(block)
    assert "too large to be drawn here" in text
    assert "▀" not in text
    Image.new("1", (8_000, 8_000)).save(tmp_path / "wide.png")
    assert "too large to be drawn here: 8000x8000" in drawn(at_path(tmp_path / "wide.png"))
    with (tmp_path / "long.png").open("wb") as file:
        file.truncate(50_000_000)
    assert "too large to be drawn here" in drawn(at_path(tmp_path / "long.png"))


def test_without_colours_of_its_own_it_is_a_line_that_names_the_key(tmp_path: Path) -> None:
    block = block_of(saved(chart(tmp_path / "chart.png"), tmp_path / "files"))
    block.toggle()
    plain = replace(PALETTE, draws=False)
    text = "\n".join(line.text for line in block.render(160, plain, START))
    assert "640x480 PNG" in text
    assert "f opens it" in text
    assert "▀" not in text
    assert not block.detail.awaits_a_picture


def test_of_many_pictures_the_first_are_drawn(tmp_path: Path) -> None:
    small = chart(tmp_path / "chart.png", (4, 2))
    files = tuple(Artifact(name=f"{n}.png", mime="image/png", path=f"{small.parent}/./{'./' * n}chart.png", size=100)
                  for n in range(MOST_DRAWN + 3))  # fmt: skip
    block = block_of(ToolResult(outcome=Outcome.SUCCEEDED, content="", artifacts=files))
    assert f"{MOST_DRAWN + 3} pictures · " in shown(block)
    block.toggle()
    assert drawn(block).count("▀▀▀▀") == MOST_DRAWN


def told(app: TinyApp, name: str, content: str = "") -> None:
    app.story.turn("Draw it", at=-10)
    call = app.story.call(0, -9, started=-8, city="Oslo")
    picture = Artifact(name=name, mime="image/png", path=name, size=2048, sides=(640, 480))
    done = {"outcome": Outcome.SUCCEEDED, "content": content, "artifacts": (picture,), "duration_ms": 1000}
    app.story.send(ev.CallFinished, -1, call_id=call, **done)


async def test_it_comes_by_itself_and_again_in_another_width(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chart(tmp_path / "chart.png")
    app = TinyApp()
    async with app.run_test(size=(100, 40)) as pilot:
        told(app, "chart.png")
        app.view.focus()
        await painted(pilot)
        await pilot.press("alt+pageup", "o")
        await until(pilot, lambda: "▀" * 53 in "\n".join(screen_lines(app)))
        await pilot.resize_terminal(48, 40)
        await until(pilot, lambda: max(line.count("▀") for line in screen_lines(app)) in range(30, 42))
        await pilot.press("o")
        await until(pilot, lambda: "▀" not in "\n".join(screen_lines(app)))


@pytest.mark.parametrize("colours", [True, False])
async def test_no_color_draws_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, colours: bool) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if not colours:
        monkeypatch.setenv("NO_COLOR", "1")
    chart(tmp_path / "chart.png")
    app = TinyApp()
    async with app.run_test(size=(100, 40)) as pilot:
        told(app, "chart.png")
        app.view.focus()
        await painted(pilot)
        await pilot.press("alt+pageup", "o")
        if colours:
            await until(pilot, lambda: "▀" in "\n".join(screen_lines(app)))
        await until(pilot, lambda: ("f opens it" in "\n".join(screen_lines(app))) is not colours)


def test_a_picture_that_you_attached_is_drawn_when_its_message_is_opened(tmp_path: Path) -> None:
    path = chart(tmp_path / "chart.png", (60, 40))
    block = UserBlock("What is this?")
    attached = Attachment(name="chart.png", mime="image/png", size=path.stat().st_size, path=str(path))
    gone = attached.model_copy(update={"name": "gone.png", "path": str(tmp_path / "gone.png")})
    block.carry("What is this?", (attached, gone), "")
    assert "▀" not in shown(block, 100)
    assert not block.live
    block.toggle()
    shown(block, 100)

    def is_there() -> bool:
        shown(block, 100)
        return not block.live

    until_there(is_there, "the pictures")
    text = shown(block, 100)
    assert sum("▀" * 60 in line for line in text.splitlines()) == 20
    assert "can't be drawn: its file is gone" in text
    assert "▀" not in block.copy_text
    assert_clean(block, 100)
    without = replace(PALETTE, draws=False)
    assert not [line for line in block.render(100, without, START) if "▀" in line.text]


def test_a_picture_of_a_drawn_picture(snap_compare: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    chart(tmp_path / "chart.png")

    async def before(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, TinyApp)
        told(app, "chart.png")
        app.view.focus()
        await painted(pilot)
        await pilot.press("alt+pageup", "o")
        await until(pilot, lambda: "▀" * 53 in "\n".join(screen_lines(app)))
        await painted(pilot)

    assert snap_compare(TinyApp(), terminal_size=(90, 36), run_before=before)  # type: ignore[operator]


def test_people_are_told_a_result_without_what_names_its_pictures_to_a_model(tmp_path: Path) -> None:
    call = block_of(saved(chart(tmp_path / "chart.png"), tmp_path / "files", "Two halves.")).call
    said = came_of(call)
    assert "of type" not in said
    assert said.endswith("B")
    assert "Two halves. Files: chart.png, picture, 640x480 PNG, " in said
