"""A result is read by the model and kept in files; tools have legal names, and servers a log."""

from __future__ import annotations

import base64
import json
import threading
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult, Tool

from console_app.domain.tools import Outcome, ToolAnnotations
from console_app.mcp_client.connecting.server_log import LARGEST_FILE, ServerLog
from console_app.mcp_client.hub import WireNames
from console_app.mcp_client.tools.cleaning import clean
from console_app.mcp_client.tools.convert import MOST_FILES, ResultFiles, annotations_of, result_of
from tests.each import each
from tests.work import work


def result(*content: dict[str, Any], **fields: Any) -> CallToolResult:
    return CallToolResult.model_validate({"content": content, **fields})


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def test_texts_are_joined_and_left_as_they_are(tmp_path: Path) -> None:
    converted = result_of(result(text("\x1b[31mred"), text("[/red]")), ResultFiles(tmp_path))
    assert converted.content == "\x1b[31mred\n[/red]"
    assert converted.outcome is Outcome.SUCCEEDED


def test_structured_content_is_kept_beside_the_text_and_read_where_there_is_none(tmp_path: Path) -> None:
    both = result_of(result(text("21 °C"), structuredContent={"degrees": 21}), ResultFiles(tmp_path))
    alone = result_of(result(structuredContent={"degrees": 21}), ResultFiles(tmp_path))
    assert (both.content, both.structured) == ("21 °C", {"degrees": 21})
    assert (alone.content, alone.structured) == ('{\n  "degrees": 21\n}', {"degrees": 21})


@each(("said", "error"), [("no\nluck", "no luck"), ("", "the tool gave no reason")])
def test_a_failure_is_one_line_for_people_and_whole_for_the_model(tmp_path: Path, said: str, error: str) -> None:
    converted = result_of(result(text(said), isError=True), ResultFiles(tmp_path))
    assert converted.outcome is Outcome.FAILED
    assert converted.error == error
    assert converted.content == f"Tool execution failed: {said or error}"


@each(
    ("structured", "error"),
    [
        ({"is_error": True, "error": "no\nsuch order"}, "no such order"),
        ({"results": {"error": "no such order"}, "meta_data": {"is_error": True}}, "no such order"),
        ({"results": "no such order", "meta_data": {"is_error": True}}, "no such order"),
        ({"result": {"meta_data": {"is_error": True, "reason": "no such order"}}}, "no such order"),
        ({"is_error": True, "error": {"code": 7, "message": "no such order"}}, "no such order"),
        ({"is_error": True}, "said"),
    ],
)
@each("as_text", [False, True])
def test_a_failure_that_a_server_says_in_band_is_one(
    tmp_path: Path, structured: dict[str, Any], error: str, as_text: bool
) -> None:
    if as_text and "result" in structured:
        return  # the wrapping is one of structured content alone
    whole = json.dumps(structured)
    found = result(text(whole)) if as_text else result(text("said"), structuredContent=structured)
    converted = result_of(found, ResultFiles(tmp_path))
    assert converted.outcome is Outcome.FAILED
    assert converted.error == (whole if as_text and error == "said" else error)
    reason = "" if error == "said" else "no\nsuch order" if "\n" in str(structured.get("error")) else "no such order"
    told = whole if as_text else f"{reason}\nsaid".strip()
    assert converted.content == f"Tool execution failed: {told}"


@each(
    "structured",
    [
        {"is_error": False, "error": "none"},
        {"is_error": "true"},
        {"error": "a column of that name"},
        {"rows": [{"is_error": True}]},
        {"meta_data": {"elapsed": 1}},
    ],
)
def test_what_only_looks_like_a_failure_is_none(tmp_path: Path, structured: dict[str, Any]) -> None:
    assert result_of(result(structuredContent=structured), ResultFiles(tmp_path)).outcome is Outcome.SUCCEEDED
    quoted = f"It wrote {json.dumps({'is_error': True})}"
    assert result_of(result(text(quoted)), ResultFiles(tmp_path)).outcome is Outcome.SUCCEEDED


@each(
    ("mime", "uri", "name"),
    [
        ("image/png", "file:///../../etc/passwd", "passwd.png"),
        ("application/pdf; charset=x", "a://b/report.final.pdf", "report-final.pdf"),
        ("made/up", "a://b/data.parquet", "data.parquet"),
        ("made/up", "a://b/\x1b]52;c;x\x07", "52-c-x.bin"),
        ("../../x", "a://b/..", "file.bin"),
    ],
)
def test_files_have_tame_names_and_real_extensions(tmp_path: Path, mime: str, uri: str, name: str) -> None:
    blob = base64.b64encode(b"bytes").decode()
    block = {"type": "resource", "resource": {"uri": uri, "blob": blob, "mimeType": mime}}
    (artifact,) = result_of(result(block), ResultFiles(tmp_path)).artifacts
    assert artifact.name == name
    assert (tmp_path / name).read_bytes() == b"bytes"
    assert artifact.size == 5


def test_bytes_that_can_not_be_kept_are_a_note_and_not_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    blocked = result_of(result(image), ResultFiles(tmp_path / "file"))
    garbled = result_of(result({**image, "data": "a"}), ResultFiles(tmp_path))
    assert blocked.content.startswith("[image of type image/png, 2 bytes: not saved, ")
    assert garbled.content == "[image of type image/png: its data could not be decoded]"
    assert blocked.outcome is garbled.outcome is Outcome.SUCCEEDED


@each(
    ("hints", "annotations"),
    [
        (None, ToolAnnotations()),
        ({"readOnlyHint": True}, ToolAnnotations(read_only=True, destructive=False)),
        ({"destructiveHint": False, "openWorldHint": False}, ToolAnnotations(destructive=False, open_world=False)),
        ({"title": "Do it", "idempotentHint": True}, ToolAnnotations(title="Do it", idempotent=True)),
    ],
)
def test_annotations_have_the_protocols_defaults(hints: dict[str, Any] | None, annotations: ToolAnnotations) -> None:
    tool = Tool.model_validate({"name": "t", "inputSchema": {"type": "object"}, "annotations": hints})
    assert annotations_of(tool) == annotations


def test_a_tool_is_named_after_its_server_and_itself() -> None:
    names = WireNames()
    assert names.name("calculator", "evaluate") == "calculator_evaluate"
    assert names.name("a_b", "c") == "a_b_c"
    assert names.name("a", "b_c") == "a_b_c_2"


@given(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), unique=True, max_size=30))
def test_names_are_legal_unique_and_stay(tools: list[tuple[str, str]]) -> None:
    names = WireNames()
    given_names = [names.name(*tool) for tool in tools]
    assert len(set(given_names)) == len(tools)
    assert [names.name(*tool) for tool in reversed(tools)] == given_names[::-1]
    for name in given_names:
        assert 1 <= len(name) <= 64
        assert all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in name)


def test_a_log_is_bounded_on_disk_and_its_last_line_is_known(tmp_path: Path) -> None:
    log = ServerLog(tmp_path, "a/b: c")
    log.write(b"Traceback:\nKeyError: 'x'\n\n")
    assert log.last_line == "KeyError: 'x'"
    assert log.path == tmp_path / "a_b__c.log"
    assert log.path.stat().st_mode & 0o777 == 0o600
    for _ in range(50):
        log.write(b"x" * 100_000)
    log.close()
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 2 * LARGEST_FILE


def picture(data: bytes = b"PNG") -> dict[str, Any]:
    return {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": "image/png"}


def test_of_thousands_of_pictures_the_first_are_kept_and_the_rest_is_told(tmp_path: Path) -> None:
    converted = result_of(result(*[picture()] * 20_000, text("all of them")), ResultFiles(tmp_path))
    assert len(converted.artifacts) == len(list(tmp_path.iterdir())) == MOST_FILES
    assert converted.content.endswith("all of them\n[19900 more files were not kept: of one answer, the first 100 are]")


def test_a_name_is_found_as_fast_however_many_are_taken(tmp_path: Path) -> None:
    def saving(taken: int) -> int:
        folder = tmp_path / str(taken)
        folder.mkdir()
        for number in range(1, taken):
            (folder / (f"image-{number}.png" if number > 1 else "image.png")).touch()
        files, data = ResultFiles(folder), base64.b64encode(b"PNG").decode()
        done = work(lambda: [files.save(data, "image/png", "image", "image") for _ in range(50)])
        assert len(list(folder.iterdir())) == taken - 1 + 50
        return done

    saving(2)  # imports
    assert saving(2_000) < 2 * saving(20)


def test_a_call_that_was_stopped_writes_no_more_files(tmp_path: Path) -> None:
    stopped = threading.Event()
    stopped.set()
    converted = result_of(result(picture(), text("x")), ResultFiles(tmp_path / "none"), stopped)
    assert (converted.artifacts, (tmp_path / "none").exists()) == ((), False)


def test_blocks_beyond_the_bound_are_told_and_not_read() -> None:
    cleaned = clean("tools/call", "2025-11-25", {"content": [text("x")] * 10_005})[0]["content"]
    assert len(cleaned) == 10_001
    assert cleaned[-1]["text"] == "[5 more blocks are left out: of one result, the first 10000 are kept]"


def test_a_picture_that_is_made_smaller_for_models_says_so(tmp_path: Path) -> None:
    wide = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (5000).to_bytes(4) + (1000).to_bytes(4)
    (said, small) = (result_of(result(picture(data)), ResultFiles(tmp_path)).content for data in (wide, wide[:16]))
    assert "[image of type image/png, 5000x1000 pixels, sent as 2000x400, 24 bytes, saved as " in said
    assert "[image of type image/png, 16 bytes, saved as " in small
