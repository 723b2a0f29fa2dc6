"""A text names files with `@`: quotes, ranges, punctuation, and all the `@` that names nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console_app.console.files import LineRange, file_mentions, written_path
from console_app.console.files.mentions import FileMention, Reading
from tests.each import each

# Names as a disk may have them, bytes that are no UTF-8 included.
NAMES = st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=30)


def only(text: str, *servers: str) -> FileMention:
    (mention,) = file_mentions(text, servers)
    return mention


@each(
    ("text", "reading"),
    [
        ("see @docs/a.md, please", Reading("docs/a.md")),
        ("(@~/a.txt)", Reading("~/a.txt")),
        ('say @"a name.txt" twice', Reading("a name.txt")),
        (r"say @a\ name.txt twice", Reading("a name.txt")),
        ('@"a name.txt":10-40', Reading("a name.txt", LineRange(10, 40))),
        ('@"a \\"b\\".txt"', Reading('a "b".txt')),
        ("@a.py:10-40.", Reading("a.py", LineRange(10, 40))),
        ("@a.py:7", Reading("a.py", LineRange(7, 7))),
        ("@a.py:7-", Reading("a.py", LineRange(7, None))),
        ("@a.py:0-3", Reading("a.py", LineRange(1, 3))),
    ],
)
def test_what_is_meant_is_among_the_readings(text: str, reading: Reading) -> None:
    assert reading in only(text).readings


def test_a_name_as_it_stands_is_read_first() -> None:
    assert [one.path for one in only("@a:7,").readings] == ["a:7,", "a:7", "a"]


@each(
    "text",
    ["me@example.org", "https://x.org/@user/a.md", "`@a.md`", "```\n@a.md\n```", "```\n@a.md", "@ a", '@""'],
)
def test_what_names_nothing(text: str) -> None:
    assert file_mentions(text) == []


def test_what_is_a_servers_is_no_file() -> None:
    assert file_mentions("@notes:10", ["notes"]) == []
    assert only("@other:10", "notes").written == "other:10"


@each(
    ("text", "path"),
    [
        ("@alice", False),
        ("@alice.", False),
        ("@v1.2", False),
        ("@app.route(x)", False),
        ("@a.md", True),
        ("@a/b", True),
        ('@"alice"', True),
    ],
)
def test_what_looks_like_a_path(text: str, path: bool) -> None:
    assert only(text).looks_like_path is path


@given(NAMES, st.text(alphabet=" .,)\n", max_size=3))
def test_every_name_that_completion_writes_is_read_back(name: str, behind: str) -> None:
    path = f"folder/{name}"
    mention = only(f"see @{written_path(path)} {behind}and more")
    assert mention.readings[0] == Reading(path)


def test_a_name_that_is_no_utf8_is_read_back() -> None:
    assert only(f"@{written_path(chr(0xDC80) + 'x')}").readings[0].path == "\udc80x"
