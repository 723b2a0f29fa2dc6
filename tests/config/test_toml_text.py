"""Finding the line of a key in TOML, checked against what tomllib reads."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app.config.files import parse_toml, position
from console_app.domain.errors import ConfigError
from tests.each import each

TEXT = '''\
# model = "in a comment"
model = """
theme = "inside a string"
"""
list = [
  1, # policy = 2
  [2],
]
  theme = 'x'
a . "b c" = 1

[providers."my.host"]   # a comment
base_url = "http://h" # [x]
models = { "m/1" = { protocol = "text" } }
[[many]]
key = 1
'''


@each(
    ("key", "place"),
    [
        (("model",), (2, 1)),
        (("theme",), (9, 3)),
        (("policy",), (1, 1)),
        (("a", "b c"), (10, 1)),
        (("providers",), (12, 2)),
        (("providers", "my.host", "base_url"), (13, 1)),
        (("providers", "my.host", "models", "m/1", "protocol"), (14, 1)),
        (("list", 1), (5, 1)),
        (("many", 0, "key"), (15, 3)),
    ],
)
def test_the_place_of_a_key_is_where_it_is_written(key: tuple[str | int, ...], place: tuple[int, int]) -> None:
    tomllib.loads(TEXT)
    assert position(TEXT, key) == place


scalars = st.one_of(st.integers(-9, 9).map(str), st.sampled_from(['"x = 1"', "'[t]'", '"""\na = 1\n"""', "[1,\n2]"]))
names = st.sampled_from(["a", "b", '"c d"', "'e.f'"])


@given(st.lists(st.tuples(names, scalars), max_size=6), st.lists(st.tuples(names, names, scalars), max_size=6))
def test_every_key_that_tomllib_reads_is_found_on_a_line_that_names_it(
    top: list[tuple[str, str]], tables: list[tuple[str, str, str]]
) -> None:
    lines = [f"{name} = {value}" for name, value in top]
    lines += [f"[t{number}.{name}]\n{key} = {value}" for number, (name, key, value) in enumerate(tables)]
    text = "\n".join(lines)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # a key given twice
    for path in _paths(values):
        line, column = position(text, path)
        assert text.splitlines()[line - 1][column - 1 :].lstrip("\"'").startswith(path[-1]) or len(path) > 1


def _paths(values: dict[str, Any]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for key, value in values.items():
        found.append((key,))
        if isinstance(value, dict):
            found += [(key, *path) for path in _paths(value)]
    return found


@given(st.text(max_size=60))
def test_broken_toml_is_told_with_line_and_column_inside_the_text(text: str) -> None:
    path = Path("config.toml")
    try:
        parse_toml(text, path)
    except ConfigError as error:
        line, column = error.detail.split(":")[1:3]
        assert 1 <= int(line) <= text.count("\n") + 1
        assert int(column) >= 1
    assert position(text, ("a", "b")) >= (1, 1)
