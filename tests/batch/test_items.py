"""Items from files: every mistake is told with its line before anything runs, and what is right is what was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.batch import ItemPlan
from console_app.batch.items import Form, InputRow, Template, make_items, read_rows
from console_app.domain.errors import UsageError

FIELD = st.dictionaries(st.sampled_from(["a", "b b", "c.d"]), st.text() | st.integers() | st.none(), min_size=1)


def rows(tmp_path: Path, text: str, name: str = "items.jsonl", form: Form | None = None) -> list[InputRow]:
    path = tmp_path / name
    path.write_text(text)
    return read_rows([str(path)], form)


def plan(prompt: str | None = "{a}", **more: object) -> ItemPlan:
    return ItemPlan(prompt, **more)  # type: ignore[arg-type]


def test_json_lines_csv_and_lines_are_told_apart_by_their_ending(tmp_path: Path) -> None:
    assert [row.fields for row in rows(tmp_path, '{"a": 1}\n\n"text"\n')] == [
        {"a": 1},
        {"prompt": "text", "text": "text"},
    ]
    assert rows(tmp_path, r'{"a": ["\uD800"]}')[0].fields["a"][0].encode()  # what can't be sent is gone
    table = rows(tmp_path, 'id;a\nx;"one\ntwo"\ny;3\n', "items.csv")
    assert [(row.id, row.fields["a"]) for row in table] == [("x", "one\ntwo"), ("y", "3")]
    assert [row.source[-4:] for row in table] == ["sv:2", "sv:4"]
    lines = rows(tmp_path, "\ufeffone\r\n\n two\n", "items.txt")
    assert [(row.id, row.fields["text"]) for row in lines] == [("1", "one"), ("3", " two")]
    assert make_items(lines, plan(None))[1].prompt == " two"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.jsonl", '{"a": 1}\n{"a": \n', "a.jsonl:2, column 6: not JSON"),
        ("a.jsonl", "1\n", "a.jsonl:1: neither a JSON object nor a text"),
        ("a.jsonl", '{"a": 1, "b": 2, "a": 1}\n', "a.jsonl:1: not JSON: the key “a” is there twice"),
        ("a.jsonl", '{"b": [{"a": 1, "a": 2}]}\n', "a.jsonl:1: not JSON: the key “a” is there twice"),
        ("a.jsonl", '{"id": {"a": 1}}\n', "a.jsonl:1: id: neither a text nor a number"),
        ("a.jsonl", '{"a": 1, "a": 1}\n', "a.jsonl:1: not JSON: the key “a” is there twice"),
        ("a.jsonl", '{"id": [1]}\n', "a.jsonl:1: id: neither a text nor a number"),
        ("a.jsonl", '{"id": true}\n', "a.jsonl:1: id: neither a text nor a number"),
        ("a.jsonl", "\n", "there is no item in it"),
        ("a.csv", "a,b\n1\n", "a.csv:2: 1 cells, where the header has 2"),
        ("a.csv", "a,a\n1,2\n", "a.csv:1: a column's name is there twice"),
        ("a.csv", 'a,b\n1,"x\n', "a.csv:2: unexpected end of data"),
        ("none.jsonl", None, "can't read"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_its_line(
    tmp_path: Path, name: str, text: str | None, says: str
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=says):
        read_rows([str(path)])


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"ab\xff")
    with pytest.raises(UsageError, match="byte 2 is not UTF-8"):
        read_rows([str(tmp_path / "a.txt")])


def test_a_missing_field_names_every_line_and_counts_the_rest(tmp_path: Path) -> None:
    found = rows(tmp_path, '{"a": 1}\n' + '{"b": 1}\n' * 5)
    with pytest.raises(UsageError) as error:
        make_items(found, plan())
    assert "items.jsonl:2: no field “a”" in error.value.detail
    assert error.value.detail.endswith("; and 2 more")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"prompt": "p", "model": 1}, "model: not a text"),
        ({"prompt": ""}, "no field “prompt”"),
        ({"prompt": "p", "attachments": ["no such file"]}, "attachments: there is no file no such file"),
        ({"prompt": "p", "attachments": [1]}, "attachments: not a list of texts"),
        ({"prompt": "p", "schema": {"type": "nothing"}}, "schema: "),
        ({"prompt": "p", "schema": {"$ref": "http://127.0.0.1/x"}}, "schema: it refers to http://127.0.0.1/x"),
        ({"prompt": "p", "schema": "{"}, "schema: not JSON"),
        ({"prompt": "p", "allowed_tools": 3}, "allowed_tools: not a list of texts"),
    ],
)
def test_what_an_item_asks_for_is_checked(tmp_path: Path, line: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError) as error:
        make_items(rows(tmp_path, json.dumps(line)), plan(None, folder=tmp_path))
    assert f"items.jsonl:1: {says}" in error.value.detail


def test_an_id_that_is_there_twice_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"items.jsonl:3: the id “2” is that of .*items.jsonl:2"):
        make_items(rows(tmp_path, '{"a": 1}\n{"a": 2}\n{"id": 2, "a": 3}\n'), plan())


def test_items_are_multiplied_by_values_and_repeated(tmp_path: Path) -> None:
    each = ["model=p/a,p/b", 'tone=["dry, short","warm"]']
    items = make_items(rows(tmp_path, '{"id": "x"}'), plan("Be {tone}.", each=each, repeat=2))
    assert len(items) == 8
    assert (items[0].id, items[0].model, items[0].prompt) == ("x#model=p/a#tone=dry, short#1", "p/a", "Be dry, short.")
    assert len({item.id for item in items}) == 8
    with pytest.raises(UsageError, match="no template names the field colour"):
        make_items(rows(tmp_path, '{"id": "x"}'), plan("p", each=["colour=a"]))
    with pytest.raises(UsageError, match="no template names the field prompt"):
        make_items(rows(tmp_path, '{"id": "x"}'), plan("p", each=["prompt=a,b"]))
    tools = make_items(rows(tmp_path, '{"id": "x"}'), plan("p", each=['allowed_tools=["a.*", "a.*,b.*"]']))
    assert len({item.digest for item in tools}) == 2
    with pytest.raises(UsageError, match="--each model is there twice"):
        ItemPlan(each=["model=a", "model=b"])
    for wrong in ("model", "model=", "=a", "model=a,a"):
        with pytest.raises(UsageError, match="--each"):
            ItemPlan(each=[wrong])


def test_braces_are_doubled_and_fields_may_lie_deep() -> None:
    template = Template('{{"t": {a.b}}} {n} {x y}', "--prompt")
    assert template.filled({"a": {"b": [1, "ü"]}, "n": None, "x y": "{n}"}) == '{"t": [1, "ü"]} null {n}'
    for wrong in ("{", "a}b", "{}", "{a\nb}"):
        with pytest.raises(UsageError, match="names no field"):
            Template(wrong, "--prompt")


@given(FIELD, st.text(alphabet="ab {}", max_size=20))
def test_a_template_says_what_is_missing_or_fills_everything(fields: dict[str, object], text: str) -> None:
    template = Template(text.replace("{", "{{").replace("}", "}}") + "{a}{c.d}", "--prompt")
    if missing := template.missing(fields):
        assert set(missing) <= {"a", "c.d"} - set(fields)
    else:
        assert template.filled(fields).startswith(text)


def test_calls_are_items_too(tmp_path: Path) -> None:
    text = '{"tool": "s.t", "arguments": {"a": 1}}\n{"id": "two", "calls": [{"tool": "s.t"}, {"tool": "s.u"}]}\n'
    path = tmp_path / "items.jsonl"
    path.write_text(text)
    one, two = ItemPlan.given_calls(str(path))
    assert (one.id, one.calls[0].tool, one.calls[0].arguments) == ("1", "s.t", {"a": 1})
    assert (two.id, [call.tool for call in two.calls]) == ("two", ["s.t", "s.u"])
    for wrong in ('{"tool": "t"}', '{"tool": "s.t", "arguments": [1]}', '{"calls": []}'):
        path.write_text(wrong)
        with pytest.raises(UsageError, match=r"items.jsonl:1: "):
            ItemPlan.given_calls(str(path))
