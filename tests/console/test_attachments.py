"""Files and folders that a prompt names, as they go with its message, or why they can't."""

from __future__ import annotations

import json
import os
import struct
import time
import zlib
from pathlib import Path

import pytest

from console_app.console.files import Attachments, Chip, Composed, attached_files, sweep, written_path
from console_app.console.files.attachments import MOST_FILES, RESTING
from console_app.domain.errors import AttachmentError
from console_app.domain.events import EVENT, MessageAdded
from console_app.domain.messages import Attachment, UserMessage
from console_app.domain.picture_size import LARGEST_FILE, picture_size
from tests.engine.peers import Model, engine_of, only, play


def png(width: int = 2, height: int = 3) -> bytes:
    """A picture of one colour."""
    rows = zlib.compress((b"\0" + bytes(width)) * height)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", rows), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


JPEG = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffc0000b080005000701011100ffd9")
GIF = b"GIF89a" + struct.pack("<HH", 7, 5) + bytes(10)
WEBP = b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f" + struct.pack("<I", 6 | 4 << 14) + bytes(10)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def attachments(folder: Path, no_pictures: str = "") -> Attachments:
    return Attachments(folder, folder.parent / "saved", None, lambda: no_pictures)


async def attached(folder: Path, text: str) -> list[Attachment]:
    composed = await attachments(folder).compose(text)
    assert (composed.message.content, composed.notices) == (text, ())
    return list(composed.message.attachments)


async def refusal(folder: Path, text: str, no_pictures: str = "") -> str:
    with pytest.raises(AttachmentError) as raised:
        await attachments(folder, no_pictures).compose(text)
    assert "\n" not in raised.value.line
    return raised.value.line


async def test_a_file_goes_along_with_its_path_around_it(folder: Path) -> None:
    (folder / "a name.txt").write_text("one\ntwo </attachment>\n")
    (one,) = await attached(folder, 'sum up @"a name.txt".')
    assert one == Attachment(name="a name.txt", size=22, text="one\ntwo </attachment>\n")
    sent = UserMessage(content="sum up", attachments=(one,)).written_out.content
    assert sent == 'sum up\n\n<attachment path="a name.txt">\none\ntwo <\\/attachment>\n\n</attachment>'


async def test_paths_from_here_from_home_and_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    (folder / "a.md").write_text("here")
    (folder.parent / "b.md").write_text("home")
    files = await attached(folder, f"@a.md, @~/b.md and (@{folder}/a.md) again, @./a.md! @../b.md")
    assert [(one.name, one.text) for one in files] == [("a.md", "here"), ("~/b.md", "home")]
    assert [one.name for one in await attached(folder, "@/proc/self/status")] == ["/proc/self/status"]


async def test_the_same_file_goes_once_but_other_lines_of_it_too(folder: Path) -> None:
    (folder / "a.md").write_text("1\n2\n3\n")
    (folder / "link.md").symlink_to("a.md")
    files = await attached(folder, "@a.md @link.md @a.md:2 @./a.md:2-2")
    assert [(one.part, one.text) for one in files] == [("", "1\n2\n3\n"), ("line 2 of 3", "2\n")]


@pytest.mark.parametrize(
    ("lines", "part", "text"),
    [
        ("2-3", "lines 2-3 of 4", "2\n3\n"),
        ("3-", "lines 3-4 of 4", "3\n4"),
        ("3-99", "lines 3-4 of 4", "3\n4"),
        ("4", "line 4 of 4", "4"),
    ],
)
async def test_lines_of_a_file(folder: Path, lines: str, part: str, text: str) -> None:
    (folder / "a.md").write_text("1\n2\n3\n4")
    (one,) = await attached(folder, f"@a.md:{lines}")
    assert (one.part, one.text) == (part, text)


async def test_a_file_whose_name_looks_like_lines_is_meant_first(folder: Path) -> None:
    (folder / "a:2").write_text("literally")
    (folder / "a").write_text("1\n2\n")
    assert [one.text for one in await attached(folder, "@a:2")] == ["literally"]


async def test_a_large_file_goes_by_its_beginning_and_says_so(folder: Path) -> None:
    (folder / "large.log").write_text("".join(f"line {n:06}\n" for n in range(100_000)))
    (one,) = await attached(folder, "@large.log")
    assert one.part == "the first 100.0 KB of 1.2 MB"
    assert one.size == 1_200_000
    text, _, note = one.text.rpartition("\n[Fanout: ")
    assert text.endswith("line 008332\n")
    assert note == "only the first 100.0 KB of 1.2 MB stands here; the rest was left out because of its size.]"
    (some,) = await attached(folder, "@large.log:50001-50002")
    assert (some.part, some.text) == ("lines 50001-50002 of 100,000", "line 050000\nline 050001\n")
    (many,) = await attached(folder, "@large.log:2-")
    assert many.part == "the first 100.0 KB of lines 2-100000 of 100,000"
    assert len(many.text) < attached_files.LARGEST_TEXT + 200


async def test_a_file_of_a_terabyte_takes_no_longer(folder: Path) -> None:
    (folder / "huge.txt").write_bytes(b"begin\n" * 20_000)
    os.truncate(folder / "huge.txt", 10**12)
    (one,) = await attached(folder, "@huge.txt")
    assert one.part == "the first 100.0 KB of 1000.0 GB"
    assert "too far in to be looked for" in await refusal(folder, "@huge.txt:999999")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\xef\xbb\xbfwith a mark", "with a mark"),
        ("naïve €".encode("utf-16"), "naïve €"),
        ("naïve €".encode("cp1252"), "naïve €"),
        (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        (b"", ""),
    ],
)
async def test_text_is_read_as_what_it_is(folder: Path, content: bytes, text: str) -> None:
    (folder / "a.txt").write_bytes(content)
    assert [one.text for one in await attached(folder, "@a.txt")] == [text]


async def test_a_folder_is_its_listing_without_what_git_ignores(folder: Path) -> None:
    for name in ("src/b.py", "src/a.py", "build/x", "bad\nname"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    (folder / ".gitignore").write_text("build/\n")
    (folder / "src" / "loop").symlink_to(folder)
    (one,) = await attached(folder, "what is in @. ?")
    assert one == Attachment(
        name="./", part="6 entries", text=".gitignore\nbad name\nsrc/\nsrc/a.py\nsrc/b.py\nsrc/loop"
    )
    assert [one.name for one in await attached(folder, "@src @src/")] == ["src/"]


async def test_a_large_folder_says_that_it_is_not_all(folder: Path) -> None:
    for n in range(attached_files.MOST_ENTRIES + 5):
        (folder / f"f{n:04}").touch()
    (one,) = await attached(folder, "@.")
    assert one.part == "1,000 entries, not all"


@pytest.mark.parametrize(
    ("content", "mime", "sides"),
    [
        (png(2, 3), "image/png", (2, 3)),
        (JPEG, "image/jpeg", (7, 5)),
        (GIF, "image/gif", (7, 5)),
        (WEBP, "image/webp", (7, 5)),
    ],
)
async def test_a_picture_is_one_by_its_bytes_and_kept_as_it_was(
    folder: Path, content: bytes, mime: str, sides: tuple[int, int]
) -> None:
    assert picture_size(content) == sides
    (folder / "shot.txt").write_bytes(content)
    (one,) = await attached(folder, "@shot.txt")
    (folder / "shot.txt").unlink()
    kept = Path(one.path)
    assert (one.name, one.mime, one.is_picture) == ("shot.txt", mime, True)
    assert f"{sides[0]}x{sides[1]} pixels" in one.text
    assert (kept.read_bytes(), kept.stat().st_mode & 0o777) == (content, 0o600)


async def test_the_same_picture_is_kept_once(folder: Path) -> None:
    (folder / "a.png").write_bytes(png())
    (folder / "b.png").write_bytes(png())
    first, second = await attached(folder, "@a.png @b.png")
    assert first.path == second.path
    assert len(list(Path(first.path).parent.iterdir())) == 1


def gone_console(mark: Path) -> None:
    """As a mark is found two days later, when the console that left it has ended."""
    assert mark.read_text() == str(os.getpid())
    mark.write_text(str(2**30))  # more than any process has
    os.utime(mark, (time.time() - 2 * RESTING,) * 2)


async def test_a_pasted_picture_that_is_never_sent_is_taken_away_later(folder: Path) -> None:
    saved, drafts = folder.parent / "saved", folder.parent / "drafts"
    drafts.mkdir()
    names = [Path(await attachments(folder).keep_picture(png(side, 1))).name for side in (1, 2, 3, 4)]
    lost, drafted, sent, fresh = names
    await attachments(folder).compose(f"@../saved/{sent}")
    (drafts / "new-x.json").write_text(json.dumps({"text": f"look at @../saved/{drafted} "}))
    sweep(saved, drafts)
    assert sorted(path.name for path in saved.glob("*.png")) == sorted(names), "this console may still send each"
    for name in (lost, drafted):
        gone_console(saved / f"{name}.unsent")
    assert not (saved / f"{sent}.unsent").exists()
    sweep(saved, drafts)
    assert sorted(path.name for path in saved.glob("*.png")) == sorted([drafted, sent, fresh])
    assert sorted(path.name for path in saved.glob("*.unsent")) == sorted([f"{drafted}.unsent", f"{fresh}.unsent"])


async def test_a_picture_of_a_message_that_is_kept_nowhere_is_taken_away_later(folder: Path) -> None:
    (folder / "a.png").write_bytes(png())
    saved = folder.parent / "saved"
    unsaved = Attachments(folder, saved, None, lambda: "", named=False)
    (one,) = (await unsaved.compose("@a.png")).message.attachments
    gone_console(Path(f"{one.path}.unsent"))
    sweep(saved, folder.parent / "drafts")
    assert list(saved.iterdir()) == []
    (one,) = await attached(folder, "@a.png")
    await unsaved.compose("@a.png")
    assert [path.name for path in saved.iterdir()] == [Path(one.path).name], "a kept message names it"


async def test_what_is_there_and_can_not_go_is_an_error(folder: Path) -> None:
    (folder / "a.bin").write_bytes(b"\x7fELF\0\0")
    (folder / "a.pdf").write_bytes(b"%PDF-1.7 text")
    (folder / "late.txt").write_bytes(b"x" * 50_000 + b"\0")
    (folder / "a.txt").write_text("1\n")
    (folder / "large.png").write_bytes(png() + bytes(200_000 + LARGEST_FILE))
    (folder / "wide.png").write_bytes(png(11_000, 10_000))
    (folder / "round").symlink_to("round")
    neither = "is neither text nor a PNG, JPEG, GIF or WebP picture. A tool that reads files can look into it."
    for name in ("a.bin", "a.pdf", "late.txt"):
        assert await refusal(folder, f"@{name}") == f"Not attached: {name} {neither}"
    assert "has 1 line, and 5 is none of them" in await refusal(folder, "@a.txt:5-9")
    assert "the first comes after the last" in await refusal(folder, "@a.txt:9-5")
    assert "is a folder, and has no lines" in await refusal(folder, "@./:3")
    assert "is a picture of 40.2 MB, and models take 40.0 MB" in await refusal(folder, "@large.png")
    assert "is 11000x10000 pixels large, and can't be made smaller here" in await refusal(folder, "@wide.png")
    assert "round can't be read: Too many levels of symbolic links" in await refusal(folder, "@round")
    for n in range(MOST_FILES + 1):
        (folder / f"f{n}").write_text("x")
    many = " ".join(f"@f{n}" for n in range(MOST_FILES + 1))
    assert "can carry 20 files, and this names 21" in await refusal(folder, many)


async def test_what_is_too_large_together_is_refused(folder: Path) -> None:
    for n in range(5):
        (folder / f"f{n}").write_text("x" * 99_999)
    line = await refusal(folder, "@f0 @f1 @f2 @f3 @f4")
    assert "too large together: 499,995 characters, and a message carries 400,000" in line


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
async def test_what_may_not_be_read_is_an_error(folder: Path) -> None:
    (folder / "a.txt").write_text("x")
    (folder / "closed").mkdir()
    (folder / "a.txt").chmod(0)
    (folder / "closed").chmod(0)
    assert "a.txt can't be read: Permission denied" in await refusal(folder, "@a.txt")
    assert "closed can't be read: Permission denied" in await refusal(folder, "@closed")
    assert "closed/a can't be read: Permission denied" in await refusal(folder, "@closed/a")
    (folder / "closed").chmod(0o700)


async def test_pipes_and_devices_are_refused_and_never_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("pipe")
    only = "and only files and folders can go with a message"
    assert await refusal(folder, "@pipe") == f"Not attached: pipe is a named pipe, {only}"
    assert await refusal(folder, "@link") == f"Not attached: link is a named pipe, {only}"
    assert await refusal(folder, "@/dev/zero") == f"Not attached: /dev/zero is a device, {only}"


async def test_a_model_that_sees_nothing_gets_no_picture(folder: Path) -> None:
    (folder / "a.png").write_bytes(png())
    line = await refusal(folder, "@a.png", "its endpoint refused one")
    assert line == (
        "Not attached: a.png is a picture, and the model takes none: its endpoint refused one. Use a model that sees."
    )
    assert not (folder.parent / "saved").exists()


async def test_a_word_is_a_word_and_a_path_that_is_not_there_is_told(folder: Path) -> None:
    text = "ask @alice about @docs/gone.md, @gone.py and @dataclass"
    assert await attachments(folder).compose("ask @alice") == Composed(UserMessage(content="ask @alice"))
    composed = await attachments(folder).compose(text)
    assert composed == Composed(
        UserMessage(content=text),
        ("Not attached, since no such file is there: @docs/gone.md, @gone.py. It went as the words it is.",),
    )


async def test_what_was_pasted_names_nothing(folder: Path) -> None:
    (folder / "a.md").write_text("a")
    (folder / "b.md").write_text("b")
    composed = await attachments(folder).compose("see @a.md\nand @b.md", typed="see @a.md\n[Pasted 9 lines]")
    assert composed.message.content == "see @a.md\nand @b.md"
    assert [one.name for one in composed.message.attachments] == ["a.md"]


async def test_chips_say_what_goes_along_and_what_can_not(folder: Path) -> None:
    (folder / "a.md").write_text("x" * 8400)
    (folder / "a.png").write_bytes(png())
    (folder / "wide.png").write_bytes(png(4000, 1000))
    (folder / "a.bin").write_bytes(b"\0")
    seen = attachments(folder)
    text = "@a.md @a.md:1 @a.png @wide.png @a.bin @gone.md @alice @. @a.md"
    chips = [
        Chip("a.md", "~2.1k tokens"),
        Chip("a.md", "~2.1k tokens · line 1 of 1"),
        Chip("a.png", "~20 tokens · picture"),
        Chip("wide.png", "~1.4k tokens · picture · 4000x1000 pixels, sent as 2000x500"),
        Chip("a.bin", "is neither text nor a PNG, JPEG, GIF or WebP picture", refused=True),
        Chip("gone.md", "no such file", refused=True, missing=True),
        Chip("./", "~7 tokens · 4 entries"),
    ]
    assert await seen.chips(text) == chips
    (folder / "a.md").write_text("shorter")
    assert (await seen.chips(text))[0] == Chip("a.md", "~2 tokens")
    assert not (folder.parent / "saved").exists()


@pytest.mark.skipif(os.name == "nt", reason="links want a right there")
async def test_a_chip_says_where_a_link_leads_out_of_the_project(folder: Path) -> None:
    outside = folder.parent / "private.txt"
    outside.write_text("x" * 40)
    (folder / "a.md").write_text("x" * 40)
    (folder / "notes.md").symlink_to(outside)
    (folder / "same.md").symlink_to(folder / "a.md")
    assert await attachments(folder).chips(f"@notes.md @same.md @{outside}") == [
        Chip("notes.md", f"~10 tokens · links to {outside}"),
        Chip("same.md", "~10 tokens"),
        Chip(str(outside), "~10 tokens"),
    ]


async def test_what_was_sent_is_in_the_session_whatever_becomes_of_the_file(folder: Path) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (folder / name).write_text("as it was")
    model = Model()
    engine = engine_of(model)
    events = await play(engine, (await attachments(folder).compose(f"@{written_path(name)}")).message)
    (folder / name).write_text("as it is")
    stored = [EVENT.validate_json(one.model_dump_json()) for one in only(events, MessageAdded)]
    (kept,) = stored[0].attachments
    assert (kept.text, kept.name) == ("as it was", "caf\ufffd.txt")
    assert "as it was" in model.requests[0].messages[0].content
