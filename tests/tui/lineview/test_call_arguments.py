"""The arguments in an open panel: read as they are meant, not as escaped JSON."""

from __future__ import annotations

from typing import Any

from console_app.domain.tools import CallState, Outcome
from console_app.tui.lineview import CallBlock, brief_arguments
from console_app.tui.lineview.calls.detail import argument_rows, arguments_text
from console_app.tui.lineview.scrolling.cursor import Cursor
from console_app.tui.lineview.scrolling.view_parts import Found
from console_app.tui.main_screen.over.copying import copies_of
from tests.tui.lineview.scenes import PALETTE
from tests.tui.lineview.test_blocks import a_call, panel, shown

EDIT = {
    "path": "parser.py",
    "old_text": '    record = read()\n    return record["name"]\n',
    "new_text": '    record = read()\n    return record["name"], record["size"]\n',
}
REMARK = 'The user edited the arguments before this call ran. It ran with: {"path":"notes.md"}\n\n'


def rows_of(arguments: dict[str, Any], width: int = 70) -> list[str]:
    return ["".join(text for text, _ in row.pieces).rstrip() for row in argument_rows(arguments, width, PALETTE)]


def finished(content: str = "done", **fields: Any) -> CallBlock:
    return panel(a_call(CallState.FINISHED, outcome=Outcome.SUCCEEDED, content=content, **fields))


def test_texts_stand_as_they_are_and_everything_else_as_json() -> None:
    rows = rows_of({"command": 'echo "a\\n"\nls', "limit": 5, "deep": {"on": True}, "none": ""})
    assert rows == [
        '  command  echo "a\\n"',
        "           ls",
        "  limit    5",
        "  deep     {",
        '             "on": true',
        "           }",
        "  none",
    ]


def test_a_replacement_is_shown_as_the_lines_that_it_changes() -> None:
    rows = rows_of(EDIT)
    assert rows[0] == "  path    parser.py"
    assert rows[1] == f"  change  {' ' * 6}record = read()"
    assert '          -     return record["name"]' in rows
    assert '          +     return record["name"], record["size"]' in rows
    assert not any("\\" in row for row in rows)


def test_several_replacements_and_one_too_long_to_compare() -> None:
    many = rows_of({"path": "a", "edits": [{"old_text": "one", "new_text": "1"}, {"old_text": "two", "new_text": "2"}]})
    assert [row.strip() for row in many[1:]] == ["change  - one", "+ 1", "change  - two", "+ 2"]
    long = rows_of({"old_text": "x\n" * 500, "new_text": "y"})
    assert long[0].split() == ["old_text", "x"]
    assert "… 300 more lines" in long[200]
    assert long[-1].split()[-1] == "y"


def test_of_a_long_text_only_the_first_page_is_laid_out_and_what_stands_behind_it_is_still_seen() -> None:
    rows = rows_of({"content": "line\n" * 5000, "path": "b.txt"})
    assert len(rows) == 202
    assert rows[-2].strip() == "… 4,800 more lines"
    assert rows[-1].split() == ["path", "b.txt"]


def test_no_row_is_wider_than_its_panel_and_names_that_are_too_long_have_a_row() -> None:
    arguments = {"a" * 40: "b" * 300, "short": "字" * 100, "x\ny\u202e": "\u202ez"}
    for width in (24, 40, 90):
        for row in argument_rows(arguments, width, PALETTE):
            assert 0 <= row.gutter <= sum(len(text) for text, _ in row.pieces)
    assert not any("\u202e" in row for row in rows_of(arguments))


def test_what_find_looks_in_is_what_is_shown() -> None:
    block = finished()
    block.call.arguments = {**EDIT, "note": "needle one\nneedle two", "many": "needle\n" * 300}
    block.toggle()
    shown(block)
    found = Found()
    found.look_for("needle")
    looked_in = arguments_text(block.call.arguments).count("needle")
    assert looked_in == 202 == len(found.matches(block))
    found.look_for("path parser.py")
    assert len(found.matches(block)) == 1


def test_what_is_said_to_the_model_alone_is_neither_counted_nor_copied() -> None:
    block = finished(REMARK + "one\ntwo\nthree", edited=True)
    assert "one  + 2 lines" in shown(block, 100)
    assert block.copy_text == copies_of(block)[0].text == "one\ntwo\nthree"


def test_in_a_row_the_badges_leave_room_for_the_arguments() -> None:
    calls = [a_call(CallState.FINISHED, outcome=Outcome.SUCCEEDED, content="ok") for _ in range(12)]
    for number, call in enumerate(calls):
        call.id, call.arguments = f"call_{number}", {"path": f"notes{number}.md"}
    calls[0].edited, calls[0].attempt = True, 2
    block = panel(*calls, room=10, settled=True)
    for width in (60, 72, 80, 100):
        assert "notes0.md" in shown(block, width)
        assert "[try 2]" in shown(block, width)


def test_the_main_argument_is_its_value_and_others_have_their_names() -> None:
    arguments = {"limit": 5, "path": "data.json"}
    assert brief_arguments(arguments, 40) == "data.json  limit=5"
    assert brief_arguments(arguments, 13) == "data.json …"
    assert brief_arguments({"path": "data.json"}, 11) == "data.json"
    assert brief_arguments({}, 8) == ""
    assert brief_arguments({"n": 3, "deep": [1]}, 40) == "n=3  deep=[1]", "a number says nothing without its name"
    assert brief_arguments({"service": "billing-v2-of-the-north"}, 16) == "billing-v2-of-t…", "cut, it needs no quotes"
    assert brief_arguments({"text": "a, b and c, d, e"}, 40) == '"a, b and c, d, e"'
    assert brief_arguments({"cwd": "/srv", "command": "make", "env": {}}, 40) == "make  cwd=/srv  env={}"
    assert brief_arguments({"path": "src", "pattern": "max_tries"}, 40, ("path",)) == "src  pattern=max_tries"


def test_the_next_failed_call_is_one_of_the_same_batch_where_the_selected_did_not_fail() -> None:
    def batch(turn: int, *failed: int) -> list[CallBlock]:
        calls = [a_call(CallState.FINISHED, outcome=Outcome.SUCCEEDED, content="ok") for _ in range(4)]
        for number, call in enumerate(calls):
            call.id = f"call_{turn}_{number}"
            call.outcome = Outcome.FAILED if number in failed else Outcome.SUCCEEDED
        group = panel(*calls).group
        return [CallBlock(call, group) for call in calls]

    older, newer, clean = batch(1, 0), batch(2, 0, 1), batch(3)
    blocks = [*older, *newer, *clean]
    for index, block in enumerate(blocks):
        block.index = index
    cursor = Cursor(lambda: blocks)
    cursor.put(newer[3])
    assert cursor.next_failed() is newer[0]
    cursor.put(newer[0])
    assert cursor.next_failed() is newer[1]
    cursor.put(newer[1])
    assert cursor.next_failed() is older[0]
    cursor.put(clean[2])
    assert cursor.next_failed() is older[0]


QWEN = "<parameter=path>\nnotes.md\n</parameter>\n<parameter=content>\n  if a < b:\n    pass\n</parameter>\n<para"


def in_tags(state: CallState, **fields: Any) -> CallBlock:
    call = a_call(state, origin="text", arguments=None, ready_at=None, **fields)
    call.arriving.set(QWEN)
    block = panel(call)
    block.toggle()
    return block


def test_an_open_panel_shows_arguments_that_arrive_between_marks_without_these() -> None:
    block = in_tags(CallState.ANNOUNCED)
    text = shown(block)
    assert not any(sign in text for sign in ("<p", "</", "=path"))
    assert [" ".join(line.split()).strip("▎ ") for line in text.split("\n") if line.strip("▎ ")][1:5] == [
        "arguments so far",
        "notes.md",
        "if a < b:",
        "pass",
    ]
    assert not any("<para" in part for part in block.searched)


def test_an_open_panel_shows_what_could_not_be_read_as_it_came() -> None:
    assert "<parameter=path>" in shown(in_tags(CallState.FINISHED, outcome=Outcome.INVALID, content="It was cut off."))
