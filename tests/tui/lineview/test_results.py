"""Results are shown as what they are: the kind is found, laid out by the page, folds, and can be seen as it came."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from pygments.lexers import find_lexer_class_for_filename, get_all_lexers  # pyright: ignore[reportUnknownVariableType]

from console_app.domain.tools import CallState, Outcome
from console_app.tui.lineview import CallBlock
from console_app.tui.lineview.results.diff import diff_stat
from console_app.tui.lineview.results.kind import kind_of, language_of_file, says_the_same
from console_app.tui.main_screen.over.copying import copies_of
from tests.each import each
from tests.examples import examples
from tests.tui.lineview.scenes import PALETTE, START, TinyApp, painted, screen_lines
from tests.tui.lineview.test_blocks import NASTY, a_call, assert_clean, panel, shown
from tests.tui.parts import until

DIFF = (
    "--- a/app/main.py\n+++ b/app/main.py\n@@ -1,4 +1,5 @@\n"
    " import os\n-import sys\n+import re\n+import json\n \n def main():\n"
)
RECORDS = [{"id": n, "name": f"thing {n}", "price": n * 1.5} for n in range(1, 13)]
MARKDOWN = "# Notes\n\nSome **bold** words.\n\n- one\n- two\n"
PYTHON = "import os\n\n\ndef main() -> None:\n    print(os.name)  # says it\n"


def finished(content: str, arguments: dict[str, Any] | None = None, **fields: Any) -> CallBlock:
    call = a_call(CallState.FINISHED, **{"outcome": Outcome.SUCCEEDED, "content": content, **fields})
    call.arguments = arguments or {}
    return panel(call)


def opened(content: str, arguments: dict[str, Any] | None = None, **fields: Any) -> CallBlock:
    block = finished(content, arguments, **fields)
    block.toggle()
    return block


def ink_of(block: CallBlock, part: str, width: int = 100) -> Any:
    lines = block.render(width, PALETTE, START)
    return next(segment.style for line in lines for segment in line if part in segment.text)


@each(
    ("content", "arguments", "kind"),
    [
        (DIFF, {}, "diff"),
        (f"```diff\n{DIFF}```\n\n", {"path": "app/main.py", "edits": [{"oldText": "a\nb"}]}, "diff"),
        (f"Edited the file:\n{DIFF}", {"path": "main.py"}, "diff"),
        (PYTHON, {"path": "app/main.py"}, "source"),
        (f"[resource file:///app/main.py]\n{PYTHON}", {}, "source"),
        ("[resource note://1 of type text/x-lua]\nlocal x\nprint(x)", {}, "source"),
        ("[resource note://1 of type application/yaml]\nfound: 2\nof: 3", {}, "source"),
        ("[resource note://1 of type image/svg+xml]\nnot yet\nthere", {}, "source"),
        ("[resource note://1 of type text/markdown]\nnothing\nmarked", {}, "markdown"),
        ("[resource note://1 of type text/calendar]\nfound: 2\nof: 3", {}, "text"),
        (f"```python\n{PYTHON}```", {}, "source"),
        ("Wrote 40 bytes to main.py\nand made its folder", {"path": "main.py", "content": PYTHON}, "text"),
        (PYTHON, {}, "source"),
        (PYTHON, {"path": "notes.txt"}, "text"),
        (PYTHON, {"path": "main"}, "source"),
        (f"```\n{PYTHON}```", {}, "source"),
        ("size: 120\ncreated: Fri Jan 02 2026\nisFile: true\n", {"path": "main.py"}, "text"),
        ("Nuts and bolts of all sizes.\nAsk for them in the shop.\n", {"url": "https://parts.rs/"}, "text"),
        ("Nuts and bolts of all sizes.\nAsk for them in the shop.\n", {"url": "https://x.org/wiki/Node.js"}, "text"),
        (MARKDOWN, {"url": "https://x.org/index.html?q=1"}, "markdown"),
        ("<!doctype html>\n<p>Nuts</p>\n", {"url": "https://x.org/index.php"}, "source"),
        (PYTHON, {"url": "https://x.org/raw/main.py"}, "source"),
        (json.dumps(RECORDS), {}, "table"),
        (
            "\n".join(json.dumps(one, indent=2) for one in RECORDS),
            {},
            "table",
        ),  # a list, a block of text for each of it
        ("\n".join(json.dumps(one) for one in RECORDS) + "\n", {"path": "things.jsonl"}, "table"),
        ('{"a": {"deep": 1}}\n{"a": 2}', {}, "json"),
        ('{"a": 1} and more', {}, "text"),
        ('{"a": 1}\n[2]', {}, "text"),
        (json.dumps({"columns": ["a", "b"], "rows": [[1, 2]]}), {}, "table"),
        (json.dumps({"items": [1, 2, {"deep": [3]}]}), {}, "json"),
        ("id,name,price\n1,nut,0.5\n2,bolt,0.7\n", {}, "table"),
        ("id;name\n1;nut\n", {"path": "parts.csv"}, "table"),
        ("One, two and three, four.\nFive, six.\nSeven.\n", {}, "text"),
        (MARKDOWN, {}, "markdown"),
        ("plain\n", {"path": "README.md"}, "markdown"),
        ("# a comment\nkey = 1\n# another\nother = 2\n", {}, "text"),
        ("\x1b[31mred\x1b[0m\n# not a heading\n", {}, "text"),
        ("just words", {}, "text"),
        ("", {}, "text"),
    ],
)
def test_the_kind_is_found_from_the_path_and_the_text(content: str, arguments: dict[str, Any], kind: str) -> None:
    assert kind_of(content, arguments).kind == kind


def test_a_diff_has_its_colours_its_line_numbers_and_its_counts() -> None:
    folded = shown(finished(DIFF), 110)
    assert "+2 -1" in folded
    assert "app/main.py" in folded
    block = opened(DIFF)
    text = shown(block, 100)
    assert "diff · +2 -1 · 9 lines" in text
    assert "    3 +import json" in text
    assert ink_of(block, "+import re") == PALETTE.success
    assert ink_of(block, "-import sys") == PALETTE.error
    line = next(line for line in block.render(100, PALETTE, START) if "+import json" in line.text)
    assert line.content == "+import json"


def test_lines_of_a_diff_that_look_like_heads_are_counted_as_what_they_are() -> None:
    stat = diff_stat("--- a\n+++ b\n@@ -1,2 +1,2 @@\n--- gone\n-two\n+++ come\n+two\n@@ -9 +9 @@\n-x\n+y\n")
    assert (stat.added, stat.removed, stat.files) == (3, 3, ["b"])


def test_source_has_the_colours_of_its_language_and_is_copied_without_numbers() -> None:
    assert "a.py · 6 lines" in shown(finished(PYTHON + "\n", {"path": "a.py"}), 110)
    block = opened(PYTHON, {"path": "a.py"})
    assert "result · Python · 5 lines" in shown(block, 100)
    assert ink_of(block, "def") == PALETTE.syntax["keyword"]
    assert ink_of(block, "# says it") == PALETTE.syntax["comment"]
    line = next(line for line in block.render(100, PALETTE, START) if "print(os" in line.text)
    assert line.content == "    print(os.name)  # says it"


@each(
    ("arguments", "content", "first"),
    [
        ({}, PYTHON, "    1 import os"),
        ({"offset": 40, "limit": 5}, PYTHON, "   40 import os"),
        ({"tail": 5}, PYTHON, "▎     import os"),
        ({}, "  1\timport os\n  2\timport re\n", "    1 import os"),
        ({"view_range": [7, 8]}, " 7→import os\n 8→import re\n", "    7 import os"),
        ({}, "9 | import os\n10 |\n11 | import re\n", "    9 import os"),
        ({}, "Here is what `cat -n` gives of a.py:\n     3\timport os\n     4\timport re\n", "    3 import os"),
        ({}, "3:import os\n9:import re\n", "▎     3:import os"),
    ],
)
def test_lines_of_source_have_the_numbers_that_they_have_in_the_file(
    arguments: dict[str, Any], content: str, first: str
) -> None:
    assert first in shown(opened(content, {"path": "a.py", **arguments}), 100)


def test_numbers_that_a_tool_printed_are_neither_coloured_nor_copied_with_lines() -> None:
    block = opened("     1\tdef main() -> None:\n     2\t    return None\n")
    assert "result · Python · 2 lines" in shown(block, 100)
    assert ink_of(block, "def") == PALETTE.syntax["keyword"]
    line = next(line for line in block.render(100, PALETTE, START) if "return None" in line.text)
    assert line.content == "    return None"
    assert copies_of(block)[0].text.startswith("     1\tdef main"), "the result is copied as it came"


def test_a_table_has_columns_and_says_its_size() -> None:
    content = json.dumps(RECORDS)
    assert "12 rows × 3 columns  id, name, price" in shown(finished(content), 130)
    text = shown(opened(content), 100)
    assert "id │ name     │ price" in text
    assert " 1 │ thing 1  │   1.5" in text
    assert '"name"' not in text


def test_a_long_table_goes_on_in_the_same_columns() -> None:
    content = "id,name\n" + "".join(f"{n},thing {n}\n" for n in range(1000))
    block = opened(content, {"path": "a.csv"})
    first = shown(block, 100)
    assert "… 800 more rows" in first
    block.detail.press("more")
    block.touch()
    longer = shown(block, 100)
    assert "… 400 more rows" in longer
    rows = [line for line in longer.split("\n") if " │ thing " in line]
    assert len(rows) == 600
    assert len({line.index(" │ thing ") for line in rows}) == 1
    assert longer.count("name") == 1


def test_markdown_is_read() -> None:
    assert "Notes  + 5 lines" in shown(finished(MARKDOWN), 110)
    text = shown(opened(MARKDOWN), 100)
    assert "• one" in text
    assert "**" not in text


@each("words", [0, 150], ids=["short", "in slices"])
def test_markdown_is_shown_to_its_end_with_the_links_that_are_defined_there(words: int) -> None:
    content = "# Notes\n\nSee [the page].\n\n" + "word\n\n" * words + "[the page]: https://b.example\n\n| a | b |\n"
    block = opened(content, {"path": "notes.md"})
    text = shown(block, 100)
    if words:
        block.detail.press("more")
        block.touch()
        text = shown(block, 100)
    while block.unfinished:
        block.lay_out()
        text = shown(block, 100)
    assert "the page (https://b.example)" in text
    assert "| a | b |" in text


@each(
    ("content", "structured", "brief"),
    [
        ("..F.\n==== 1 failed, 141 passed in 3.2s ====\nexit code: 1\n", None, "exit 1 · 1 failed, 141 passed in 3.2s"),
        ("all good\n\n", None, "all good"),
        ("building\ndone in 3 s", {"exit_code": 0, "stdout": "building\ndone in 3 s\n"}, "done in 3 s"),
        (json.dumps({"exitCode": 2, "stdout": "", "stderr": "make: no rule\n"}), None, "exit 2 · make: no rule"),
        ("Exit code: 127\nsh: nosuch: not found", None, "exit 127 · sh: nosuch: not found"),
        ("3 passed\n[exit 0 in 0.5 s; sandboxed (bubblewrap)]", {"exit_code": 0, "run": 1}, "3 passed"),
        ("[no output]\n[exit 0 in 0.5 s; sandboxed (bubblewrap)]", {"exit_code": 0, "run": 1}, "no output"),
        (
            "3 passed\n[exit 0 in 0.5 s; sandboxed (bubblewrap)]\n\n[Fanout: a hook says: Well done.\nGo on.]",
            {"exit_code": 0, "run": 1},
            "3 passed",
        ),
        (
            "y\n[timed out after 4 s: exit 143 in 4.0 s; sandboxed (bubblewrap)]\n[The sandbox may have stopped this.]",
            {"exit_code": 143, "run": 1},
            "exit 143 · y",
        ),
        (
            "y\n[timed out after 4 s: exit 143 in 4.0 s; sandboxed (bubblewrap)]",
            {"exit_code": 143, "ended": "timed out after 4 s", "sandbox": "bubblewrap"},
            "timed out after 4 s · y",
        ),
        (
            "\x1b[?1049h\x1b[1;1H~\n\x1b[2;1Hx.txt [New]\x1b[K\r\n\x1b[24;1H\x1b[23;2t\x1b[23;1t\x1b[?1049l\n"
            "[timed out after 3 s: exit 143 in 3.0 s; sandboxed (bubblewrap)]",
            {"exit_code": 143, "ended": "timed out after 3 s", "sandbox": "bubblewrap"},
            "timed out after 3 s · x.txt [New]",
        ),
    ],
)
def test_a_command_says_its_exit_and_its_last_meaningful_line(content: str, structured: Any, brief: str) -> None:
    block = finished(content, {"command": "make"}, structured=structured)
    assert f"make · {brief}" in shown(block, 140)


def test_an_error_shows_its_first_line_whole() -> None:
    error = "ENOENT: no such file or directory, open '/srv/data/report.csv'"
    content = f"Tool execution failed: {error}\n  at one\n  at two\n"
    block = finished(content, outcome=Outcome.FAILED, error=error)
    assert error in shown(block, 110)
    block.toggle()
    assert "Tool execution failed" not in shown(block, 110), "that is told the model"


def test_of_an_error_its_own_words_are_shown_not_those_before_every_error() -> None:
    error = "Error executing tool report: the disk is full"
    text = shown(finished(f"Tool execution failed: {error}", outcome=Outcome.FAILED, error=error), 80)
    assert "the disk is full" in text
    assert "executing" not in text


def test_json_folds_by_key_and_every_node_by_itself() -> None:
    value = {"user": {"name": "Ada", "tags": ["a", "b"]}, "items": [{"n": n} for n in range(80)]}
    block = opened(json.dumps(value))
    text = shown(block, 100)
    assert '▸   "items": [ 80 items ]' in text
    assert '▸   "user": { 2 keys },' in text
    assert block.detail.press("unfold")
    block.touch()
    assert '▾   "user": {' in shown(block, 100)
    assert '▸     "tags": [ 2 items ]' in shown(block, 100)
    block.detail.turn("result", ("items",))
    block.touch()
    assert '▸   "items": [ 80 items ]' in shown(block, 100)
    assert block.detail.press("fold")
    assert block.detail.press("fold")
    block.touch()
    assert "▸ { 2 keys }" in shown(block, 100)
    assert not block.detail.press("fold")


@each(
    ("content", "title"),
    [
        (json.dumps({"user": {"name": "Ada"}, "items": list(range(80))}), "result · JSON · 2 keys · "),
        (json.dumps([[1], 2, 3]), "result · JSON · 3 items · 11 B"),
        ("{}", "result · JSON · 0 keys · 2 B"),
        (json.dumps(RECORDS), "result · table · 12 rows × 3 columns"),
        (MARKDOWN, "result · Markdown · 6 lines · "),
        ("one\ntwo\n", "result · 2 lines · 8 B"),
    ],
)
def test_the_title_counts_what_is_seen(content: str, title: str) -> None:
    assert title in shown(opened(content), 100)


@each(
    ("value", "shape"),
    [
        ({"orders": [1, 2, 3], "next": None}, "orders: 3, next: null"),
        ({"ok": True, "of": {"a": 1}, "name": "a b", "n": 1.5}, "ok: true, of: {1}, name: a b, n: 1.5"),
        ([{"deep": [[1]]}, 2, [3]], "3 items"),
    ],
)
def test_json_is_its_shape_in_one_line(value: Any, shape: str) -> None:
    row = shown(finished(json.dumps(value, indent=2)), 120)
    assert re.search(rf"look_up · {re.escape(shape)} +2.0 s$", row), row
    many = shown(finished(json.dumps({f"key {n}": [n] for n in range(40)})), 100)
    assert "key 0: 1, key 1: 1" in many
    assert many.count("…") == 1


def test_a_long_table_beside_the_text_can_be_seen_to_its_end() -> None:
    rows = [{"id": n, "name": f"thing {n}"} for n in range(1000)]
    block = opened("a thousand things", structured={"things": rows})
    assert "… 800 more rows · m shows more" in shown(block, 100)
    assert "more" in block.detail.keys
    for _ in range(3):
        block.detail.press("more")
    block.touch()
    assert "thing 999" in shown(block, 100)
    assert "more" not in block.detail.keys


def test_what_was_opened_stays_so_when_the_lines_are_forgotten() -> None:
    block = opened(json.dumps({"a": {"b": [1] * 100}}))
    before = shown(block, 100)
    block.detail.press("unfold")
    block.touch()
    after = shown(block, 100)
    assert after != before
    block.forget()
    assert shown(block, 100) == after


def test_a_result_can_be_seen_as_it_came() -> None:
    block = opened(MARKDOWN)
    assert "raw" in block.detail.keys
    block.detail.press("raw")
    block.touch()
    assert "as it came" in shown(block, 100)
    assert "Some **bold** words." in shown(block, 100)
    block.detail.press("rendered")
    block.touch()
    assert "Some bold words." in shown(block, 100)


@each("kind", ["sandboxed (bubblewrap)", "sandboxed more weakly (Landlock and seccomp)", "outside of the sandbox"])
def test_of_the_bundled_shell_the_text_says_all(kind: str) -> None:
    block = opened(f"x\n[exit 1 in 0.1 s; {kind}]", structured={"exit_code": 1, "file": "/tmp/1.txt"})
    assert "structured" not in shown(block)


def test_structured_content_beside_the_text_can_be_seen_as_it_came() -> None:
    block = opened("a thousand things", structured={"things": [{"id": n, "name": f"thing {n}"} for n in range(3)]})
    assert '"name": "thing 1"' not in shown(block, 100)
    block.detail.press("raw")
    block.touch()
    assert '"name": "thing 1"' in shown(block, 100)


@each(
    ("content", "structured", "same"),
    [
        ('{"a": 1}', {"a": 1}, True),
        ("hello", {"result": "hello"}, True),
        ("[1, 2]", {"result": [1, 2]}, True),
        ("3", {"result": 3}, True),
        ("Oslo: 21.5 degrees, sunny", {"city": "Oslo", "degrees": 21.5, "sky": "sunny"}, True),
        ("It is 21.55 degrees", {"degrees": 21.5}, False),
        ("done", {"ok": True}, False),
        ("3 found", {"found": 3, "names": ["x", "y"]}, False),
        ("", {"a": 1}, False),
    ],
)
def test_structured_content_that_the_text_says_is_not_shown_twice(content: str, structured: Any, same: bool) -> None:
    assert says_the_same(content, structured) is same
    assert ("structured ·" in shown(opened(content, structured=structured), 100)) is not same


def test_what_fanout_says_to_the_model_of_a_result_is_not_shown_but_raw() -> None:
    remark = 'The user edited the arguments before this call ran. It ran with: {"a":1}'
    block = opened(f"{remark}\n\n{json.dumps(RECORDS)}")
    assert "thing 12" in shown(block, 100)
    assert "The user edited" not in shown(block, 100)
    block.detail.press("raw")
    block.touch()
    assert "The user edited" in shown(block, 100)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@examples(60)
@given(
    text=st.one_of(
        st.text(max_size=300),
        st.text(alphabet="@+- \n,1\t|#`\"[]{}:ab*\x1b漢", max_size=300),
        JSON.map(json.dumps),
        st.just(DIFF + NASTY), st.just(MARKDOWN + NASTY), st.just("a,b,c\n1,2," + NASTY.replace("\n", " ") + "\n"),
    ),
    name=st.sampled_from(["", "a.py", "b.csv", "c.md", "d.diff", "Makefile", "e.html"]),
    width=st.sampled_from([8, 24, 30, 44, 80, 120]),
)  # fmt: skip
def test_no_result_breaks_a_panel(text: str, name: str, width: int) -> None:
    block = finished(text, {"path": name} if name else {})
    assert_clean(block, width)
    block.toggle()
    assert_clean(block, width)
    for key in ("unfold", "fold", "more", "raw"):
        if key in block.detail.keys:
            block.detail.press(key)
            block.touch()
            assert_clean(block, width)


async def test_keys_and_clicks_fold_and_show_raw() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.story.turn()
        call_id = app.story.call(0, started=0.0)
        app.story.finish(call_id, 1.0, json.dumps({"first": {"a": [1, 2]}, "second": list(range(100))}))
        await painted(pilot)
        app.view.focus()
        await pilot.press("o")
        await painted(pilot)
        assert any("second" in line and "100 items" in line for line in screen_lines(app))
        row = next(n for n, line in enumerate(screen_lines(app)) if '"first"' in line)
        await pilot.click(app.view, offset=(screen_lines(app)[row].index('"first"'), row))
        await until(pilot, lambda: any('"a"' in line for line in screen_lines(app)))
        await pilot.press("left")
        await until(pilot, lambda: any("{ 2 keys }" in line for line in screen_lines(app)))
        await app.timing.pass_by()
        await pilot.press("v")
        await until(pilot, lambda: any("as it came" in line for line in screen_lines(app)))
        await app.timing.pass_by()
        await pilot.press("v")
        await until(pilot, lambda: not any("as it came" in line for line in screen_lines(app)))


NOTE = "[lines 1 to 5; go on with offset=6]"


@each(
    ("content", "path", "measure"),
    [(PYTHON, "a.py", "Python · 5 lines"), ("a,b\n1,2\n3,4\n5,6\n", "a.csv", "table · 3 rows × 2 columns"),
     (MARKDOWN, "a.md", "Markdown · 6 lines")],
    ids=["source", "table", "markdown"],
)  # fmt: skip
def test_what_a_tool_says_below_a_part_of_a_file_is_no_line_of_it(content: str, path: str, measure: str) -> None:
    block = opened(f"{content}{NOTE}", {"path": path})
    text = shown(block, 100)
    assert measure in text
    line = next(line for line in text.split("\n") if NOTE in line)
    assert re.search(r"[▎ ]+(\S.*\])", line)[1] == NOTE  # type: ignore[index]
    assert block.copy_text.endswith(NOTE)


def test_a_coloured_result_shows_its_escapes_raw() -> None:
    """The raw key is there for it, the marks are seen, and what is found in it is what is seen either way."""
    block = opened("\x1b[31mred\x1b[0m 31")
    assert "red 31" in shown(block)
    assert "raw" in block.detail.keys
    assert block.detail.texts()[-1] == "red 31"
    block.detail.press("raw")
    block.touch()
    assert "␛[31mred␛[0m 31" in shown(block)
    assert block.detail.texts()[-1] == "␛[31mred␛[0m 31"
    assert copies_of(block)[0].about.endswith("red 31")
    assert "\x1b[31m" in copies_of(block)[0].text


def test_the_language_of_a_file_is_what_pygments_says_for_each_of_its_names() -> None:
    kinds = [pattern for _, _, patterns, _ in get_all_lexers(plugins=False) for pattern in patterns]
    odd = {
        "Makefile.in",
        "x.rpm",
        "man.1",
        "t.lasso9",
        "x.gsed",
        "robots.txt",
        ".bashrc",
        "x.C",
        "x.h",
        "a.b.c",
        "",
        ".",
    }
    for name in odd | {pattern.replace("*", stem) for pattern in kinds for stem in ("x", "a.b")}:
        lexer = cast("Any", find_lexer_class_for_filename(name))
        alias: str = lexer.aliases[0] if lexer is not None and lexer.aliases else "text"
        assert language_of_file(name) == (("", "") if alias == "text" else (alias, getattr(lexer, "name", ""))), name


def test_of_one_line_without_end_the_row_shows_its_end() -> None:
    block = finished(f"{'y' * 9000}\n[exit 0 in 0.1 s; sandboxed (bubblewrap)]", {"command": "yes"})
    assert "…yyy" in shown(block)
    assert "no output" not in shown(block)
