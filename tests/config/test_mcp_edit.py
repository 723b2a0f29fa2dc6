"""A server is added to mcp.json, changed or taken out, and the rest of the file stays as it was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.config.files import Paths
from console_app.config.files.trusted import Written, is_trusted, trust, trust_edit
from console_app.config.servers import ServerFile, json_positions
from console_app.config.servers.mcp_edit import with_server, without_server
from console_app.domain.errors import ConfigError
from tests.each import each

FILE = Path("mcp.json")
COMMENTED = """{
  // mine
  "inputs": [1,2],
  "mcpServers": {
    "a": {"command": "x"}, // first
    "b": {
      "command": "y" /* with, a comma */
    }
  },
  "other": {"kept":   true}
}
"""


def servers(text: str) -> dict[str, Any]:
    return json_positions.parse(text).value["mcpServers"]


def test_a_new_server_comes_last_and_nothing_else_changes() -> None:
    text = with_server(COMMENTED, "c", {"command": "z", "args": ["1"]}, FILE)
    assert list(servers(text)) == ["a", "b", "c"]
    added = ',\n    "c": {\n      "command": "z",\n      "args": [\n        "1"\n      ]\n    }'
    assert text == COMMENTED.replace("    }\n  },", f"    }}{added}\n  }},")


def test_a_server_is_changed_where_it_stands() -> None:
    text = with_server(COMMENTED, "a", {"url": "https://x"}, FILE)
    assert list(servers(text)) == ["a", "b"]
    assert "}, // first" in text
    assert text.endswith(COMMENTED[COMMENTED.index("// first") :])


@each("name", ["a", "b"])
def test_a_server_is_taken_out(name: str) -> None:
    text = without_server(COMMENTED, name, FILE)
    assert list(servers(text)) == [other for other in "ab" if other != name]
    assert "// mine" in text
    assert '"other": {"kept":   true}' in text
    assert without_server(text, "b" if name == "a" else "a", FILE)


@each(
    "text",
    [
        '{"mcpServers": {}}',
        '{"mcpServers": {"a": {"command": "x"},}}',
        '{"mcpServers": {\n // none yet\n}}',
        '\ufeff{"mcpServers": {}}',
    ],
)
def test_a_server_comes_into_a_file_of_any_layout(text: str) -> None:
    after = with_server(text.removeprefix("\ufeff"), "n", {"command": "y"}, FILE)
    assert servers(after)["n"] == {"command": "y"}
    assert servers(with_server(after, "m", {"command": "y"}, FILE)).keys() >= {"n", "m"}


def home(tmp_path: Path) -> Paths:
    return Paths.find({"FANOUT_HOME": str(tmp_path / "home")})


def test_a_file_that_is_not_there_begins_with_its_first_server(tmp_path: Path) -> None:
    path, bundled = tmp_path / "deep" / "mcp.json", tmp_path / "bundled.json"
    bundled.write_text('{"mcpServers": {"ours": {"command": "x"}}}')
    file = ServerFile(home(tmp_path), path, (bundled,))
    assert file.names() == ["ours"]
    file.put("old", {"command": "x"})
    file.put("new", {"command": "y"})
    assert (list(servers(path.read_text())), file.names()) == (["old", "new"], ["old", "new", "ours"])
    file.remove("old")
    assert list(servers(path.read_text())) == ["new"]
    assert file.fields("new") == {"command": "y"}
    assert file.fields("old") == {}


def test_a_server_that_could_not_be_started_is_refused(tmp_path: Path) -> None:
    file = ServerFile(home(tmp_path), tmp_path / "mcp.json")
    with pytest.raises(ConfigError, match="http"):
        file.put("new", {"url": "ftp://x"})
    assert not file.path.exists()
    file.put("new", {"command": "x", "env": {"KEY": "${NOT_SET_HERE}"}})
    with pytest.raises(ConfigError, match="no server old"):
        file.remove("old")


def test_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {')
    with pytest.raises(ConfigError, match=r"mcp\.json:1:"):
        ServerFile(home(tmp_path), path).put("new", {"command": "y"})
    assert path.read_text() == '{"mcpServers": {'


names = st.text(min_size=1, max_size=8).filter(lambda name: name.isprintable())


@given(
    before=st.dictionaries(names, st.just({"command": "x"}), max_size=4),
    indent=st.sampled_from([None, 2, 4, "\t"]),
    name=names,
    value=st.text(max_size=20),
)
def test_whatever_the_names_and_the_layout(
    before: dict[str, Any], indent: int | str | None, name: str, value: str
) -> None:
    text = json.dumps({"first": 1, "mcpServers": before, "last": [2]}, indent=indent)
    added = with_server(text, name, {"command": value}, FILE)
    assert json.loads(added) == {"first": 1, "mcpServers": before | {name: {"command": value}}, "last": [2]}
    rest = {key: one for key, one in before.items() if key != name}
    assert json.loads(without_server(added, name, FILE)) == {"first": 1, "mcpServers": rest, "last": [2]}


def test_what_another_program_writes_right_behind_an_edit_is_not_trusted_with_it(tmp_path: Path) -> None:
    paths, file = home(tmp_path), tmp_path / "mcp.json"
    file.write_text(COMMENTED)
    trust(paths, file)
    edit = Written(COMMENTED, with_server(COMMENTED, "c", {"command": "z"}, file))
    file.write_text(edit.text.replace('"z"', '"another"'))
    trust_edit(paths, file, edit)
    assert not is_trusted(paths, file)
    file.write_text(edit.text)
    assert is_trusted(paths, file)


def test_an_edit_of_what_another_program_wrote_before_it_is_not_trusted(tmp_path: Path) -> None:
    paths, file = home(tmp_path), tmp_path / "mcp.json"
    file.write_text(COMMENTED)
    trust(paths, file)
    file.write_text(COMMENTED.replace('"x"', '"another"'))
    ServerFile(paths, file).remove("b")
    assert not is_trusted(paths, file)


def test_a_file_that_an_edit_began_is_trusted_by_nobody(tmp_path: Path) -> None:
    paths, file = home(tmp_path), tmp_path / "mcp.json"
    ServerFile(paths, file).put("c", {"command": "z"})
    assert not is_trusted(paths, file)
