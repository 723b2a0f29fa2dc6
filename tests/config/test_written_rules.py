"""Rules written into the user's configuration: nothing else in the file changes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.config.files import Paths
from console_app.config.settings import UserRules
from console_app.domain.errors import ConfigError
from tests.each import each

RULE = "files.write_file(path=docs/*)"


def paths_in(folder: Path, text: str | None) -> Paths:
    paths = Paths.find({"FANOUT_HOME": str(folder)})
    if text is not None:
        paths.settings.write_text(text, encoding="utf-8")
    return paths


@each(
    ("before", "after"),
    [
        (None, '[rules]\nallow = ["%s"]\n'),
        ('model = "x/y"  # mine', 'model = "x/y"  # mine\n[rules]\nallow = ["%s"]\n'),
        ("[rules] # here\n# why\ndeny = []\n", '[rules] # here\n# why\ndeny = []\nallow = ["%s"]\n'),
        ("[rules]\nallow = []\n[keys]\n", '[rules]\nallow = ["%s"]\n[keys]\n'),
        ("[rules]\nallow = ['a.b'] # one\n", "[rules]\nallow = ['a.b', \"%s\"] # one\n"),
        (
            '[rules]\nallow = [\n  "a.b",  # one\n  "c.d" # two ]\n  # end\n]\n',
            '[rules]\nallow = [\n  "a.b",  # one\n  "c.d", # two ]\n  # end\n  "%s",\n]\n',
        ),
        ('[rules]\nallow = [\n\t"a.b",\n]\n', '[rules]\nallow = [\n\t"a.b",\n\t"%s",\n]\n'),
        ('rules.allow = ["a.b"]\n[keys]\n', 'rules.allow = ["a.b", "%s"]\n[keys]\n'),
        ('rules = { allow = ["a.b"] }\n', 'rules = { allow = ["a.b", "%s"] }\n'),
        ('[rules]\nallow = ["a, [b]"]', '[rules]\nallow = ["a, [b]", "%s"]'),
    ],
)
def test_a_rule_is_added_where_its_array_is_and_can_be_removed_again(
    tmp_path: Path, before: str | None, after: str
) -> None:
    paths = paths_in(tmp_path, before)
    UserRules(paths).add("allow", RULE)
    assert paths.settings.read_text(encoding="utf-8") == after % RULE
    UserRules(paths).add("allow", RULE)
    assert paths.settings.read_text(encoding="utf-8") == after % RULE
    UserRules(paths).remove("allow", RULE)
    left = tomllib.loads(paths.settings.read_text(encoding="utf-8"))
    assert RULE not in left["rules"]["allow"]
    assert "#" not in (before or "") or "#" in paths.settings.read_text(encoding="utf-8")


def test_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    paths = paths_in(tmp_path, "[rules\n")
    with pytest.raises(ConfigError, match="It has to be TOML"):
        UserRules(paths).add("deny", RULE)
    assert paths.settings.read_text(encoding="utf-8") == "[rules\n"


def test_a_rule_that_isnt_there_cant_be_removed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no rule deny"):
        UserRules(paths_in(tmp_path, "[rules]\n")).remove("deny", "a.b")


ENTRY = st.sampled_from(["a.b", "c.*", "d.e(path=x/*)", 'f.g(x="1, 2")', "h.[(]", "ü.ö"])


@given(st.lists(ENTRY, unique=True), st.lists(st.tuples(st.booleans(), ENTRY), max_size=8))
def test_any_order_of_adding_and_removing_leaves_what_was_meant(
    tmp_path_factory: pytest.TempPathFactory, first: list[str], changes: list[tuple[bool, str]]
) -> None:
    body = "".join(f"  {tomllib_string(one)}, # {one.isascii()}\n" for one in first)
    paths = paths_in(tmp_path_factory.mktemp("home"), f"# top\n[rules]\nallow = [\n{body}]\n# end\n")
    expected = list(first)
    for add, rule in changes:
        if add:
            UserRules(paths).add("allow", rule)
            expected += [] if rule in expected else [rule]
        elif rule in expected:
            UserRules(paths).remove("allow", rule)
            expected.remove(rule)
    text = paths.settings.read_text(encoding="utf-8")
    assert tomllib.loads(text)["rules"]["allow"] == expected
    assert text.startswith("# top\n")
    assert text.endswith("# end\n")


def tomllib_string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
