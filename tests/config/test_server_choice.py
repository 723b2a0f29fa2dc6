"""Which servers there are, of the files that are laid over one another: named, trusted, the user's, bundled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from console_app.config.files import Paths
from console_app.config.files.trusted import trust
from console_app.config.servers import ServerChoice, choose_servers
from console_app.domain.errors import ConfigError, UsageError


def write(path: Path, *names: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": {name: {"command": "x", "disabled": name == "off"} for name in names}}))
    return path


class Place:
    """A home, a working folder and a bundled file."""

    def __init__(self, root: Path) -> None:
        self.paths = Paths.find({"FANOUT_HOME": str(root / "home")})
        self.cwd = root / "work"
        self.cwd.mkdir()
        self.bundled = write(root / "bundled" / "mcp.json", "bundled")

    def choose(
        self,
        given: Path | None = None,
        only: Sequence[str] = (),
        *,
        none: bool = False,
        groups: Sequence[str] | None = None,
        with_model: frozenset[str] | None = None,
    ) -> ServerChoice:
        return choose_servers(
            self.paths,
            self.cwd,
            mcp_config=given,
            bundled=self.bundled,
            on=with_model,
            only=only,
            none=none,
            groups=groups,
            environ={},
        )

    def on(self, given: Path | None = None, *, with_model: frozenset[str]) -> set[str]:
        return {
            server.name
            for server in self.choose(given, with_model=with_model).servers
            if not (server.disabled or server.problem)
        }

    def names(self, given: Path | None = None) -> list[str]:
        return [server.name for server in self.choose(given).servers]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_any_file_the_bundled_servers_run(place: Place) -> None:
    assert place.names() == ["bundled"]
    assert place.choose().bundled


def test_the_users_file_adds_to_the_bundled_one(place: Place) -> None:
    write(place.paths.mcp, "mine")
    assert place.names() == ["mine", "bundled"]
    assert not place.choose().bundled


@pytest.mark.parametrize("name", ["mcp.json", ".mcp.json", ".vscode/mcp.json"])
def test_a_trusted_file_of_the_project_adds_servers_and_its_own_of_a_name_count(place: Place, name: str) -> None:
    write(place.bundled, "files", "shell", "web", "demo")
    mine = write(place.paths.mcp, "mine", "both")
    on = frozenset({"files", "shell", "web"})
    assert place.on(with_model=on) == {"mine", "both", *on}
    project = write(place.cwd / name, "theirs", "both")
    assert place.on(with_model=on) == {"mine", "both", *on}, "it is not trusted"
    trust(place.paths, project)
    choice = place.choose(with_model=on)
    assert place.on(with_model=on) == {"theirs", "mine", "both", *on}
    assert (choice.foreign, choice.shipped) == ({"theirs", "both"}, {*on, "demo"})
    assert choice.files == (project, mine, place.bundled)
    project.write_text('{"mcpServers": {"files": {"command": "evil"}, "shell": {"disabled": true}, "mine": null}}')
    trust(place.paths, project)
    choice = place.choose(with_model=on)
    assert place.on(with_model=on) == {"files", "both", "web"}
    assert choice.foreign == {"files", "mine"}, "what is only switched off is still what it was"
    assert [one.command for one in choice.servers if one.name == "files"] == ["evil"]
    (shell,) = place.choose(only=["shell"], with_model=on).servers
    assert (shell.command, shell.problem, shell.disabled) == ("x", "", False)
    project.unlink()
    mine.write_text('{"mcpServers": {"web": {"command": "x", "disabled": true}, "shell": {"command": "other"}}}')
    assert place.on(with_model=on) == {"files", "shell"}
    assert place.choose(with_model=on).shipped == {"files", "web", "demo"}


def test_a_file_that_is_named_has_beside_it_only_what_is_on_with_a_model(place: Place) -> None:
    write(place.bundled, "files", "demo")
    write(place.paths.mcp, "mine")
    trust(place.paths, write(place.cwd / "mcp.json", "theirs"))
    named = write(place.cwd / "named.json", "named")
    assert place.names(named) == ["named"]
    choice = place.choose(named, with_model=frozenset({"files"}))
    assert [one.name for one in choice.servers] == ["named", "files"]
    assert choice.foreign == {"named"}
    write(named, "files").write_text('{"mcpServers": {"files": {"disabled": true}}}')
    assert not place.on(named, with_model=frozenset({"files"}))


def test_an_own_file_that_is_broken_stops_no_project(place: Place) -> None:
    trust(place.paths, write(place.cwd / "mcp.json", "theirs"))
    place.paths.mcp.parent.mkdir(parents=True, exist_ok=True)
    place.paths.mcp.write_text("{ broken")
    assert place.names() == ["theirs", "bundled"]
    assert "it is not used" in place.choose().notes[0]


def test_a_server_for_other_groups_can_not_be_started_and_says_why(place: Place) -> None:
    write(place.paths.mcp, "all", "staff").write_text(
        '{"mcpServers": {"all": {"command": "a"}, "staff": {"command": "b", "groups": ["staff", "root"]}}}'
    )
    assert [server.problem for server in place.choose().servers] == ["", "", ""]  # no groups are set: none counts
    why = "it is for the groups staff, root, and yours (the setting `groups`): users"
    theirs = place.choose(groups=["users"]).servers
    assert [(server.problem, server.disabled) for server in theirs[:2]] == [("", False), (why, True)]
    (named,) = place.choose(groups=["users"], only=["staff"]).servers
    assert (named.problem, named.disabled) == (why, False)  # whoever names it reads why it fails
    assert not any(server.problem for server in place.choose(groups=["root"]).servers)


def test_in_the_users_own_file_the_bundled_servers_are_known_by_what_they_run(place: Place) -> None:
    write(place.bundled, "ours", "changed", "gone")
    mine = write(place.paths.mcp, "ours", "changed", "mine")
    mine.write_text(mine.read_text().replace('"changed": {', '"changed": {"env": {"A": "b"}, '))
    assert place.choose().shipped == {"ours", "gone"}
    assert place.choose(given=write(place.cwd / "other.json", "ours")).shipped == frozenset()


def test_a_projects_file_is_not_used_until_trusted_and_that_is_said(place: Place) -> None:
    project = write(place.cwd / "mcp.json", "theirs")
    choice = place.choose()
    assert [server.name for server in choice.servers] == ["bundled"]
    assert len(choice.notes) == 1
    assert "fanout trust" in choice.notes[0]
    trust(place.paths, project)
    assert place.names() == ["theirs", "bundled"]
    write(project, "changed")
    assert place.names() == ["bundled"]


def test_a_file_that_is_named_is_used_without_asking(place: Place) -> None:
    write(place.cwd / "mcp.json", "theirs")
    assert place.names(Path("mcp.json")) == ["theirs"]


def test_the_bundled_file_of_a_checkout_needs_no_trust(place: Place) -> None:
    place.bundled = write(place.cwd / "mcp.json", "bundled")
    choice = place.choose()
    assert (choice.files, choice.bundled, choice.untrusted, choice.notes) == ((place.bundled,), True, None, ())


def test_one_server_can_be_asked_for_even_one_that_is_off(place: Place) -> None:
    write(place.paths.mcp, "a", "off")
    choice = place.choose(only=["off"])
    assert [(server.name, server.disabled) for server in choice.servers] == [("off", False)]
    with pytest.raises(UsageError, match="has no server nope"):
        place.choose(only=["nope"])


def test_no_servers_at_all_can_be_asked_for(place: Place) -> None:
    place.bundled.write_text("{ broken")
    assert place.choose(none=True).servers == ()


def test_a_named_file_that_is_missing_or_broken_is_told(place: Place) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        place.choose(Path("nowhere.json"))
    (place.cwd / "broken.json").write_text('{"mcpServers":\n {"a": }}')
    with pytest.raises(ConfigError, match=r"broken\.json:2:8"):
        place.choose(Path("broken.json"))


def test_what_a_projects_settings_name_takes_trust_like_its_mcp_json(place: Place) -> None:
    def choose(name: str) -> ServerChoice:
        return choose_servers(
            place.paths,
            place.cwd,
            mcp_config=Path(name),
            bundled=place.bundled,
            environ={},
            named_by_project=True,
        )

    file = write(place.cwd / "other.json", "evil")
    refused = choose("other.json")
    assert [server.name for server in refused.servers] == ["bundled"]
    assert refused.untrusted == file
    assert "other.json is not used: it starts programs" in refused.notes[0]
    trust(place.paths, file)
    assert [server.name for server in choose("other.json").servers] == ["evil", "bundled"]
    write(file, "changed")
    assert [server.name for server in choose("other.json").servers] == ["bundled"]
    trust(place.paths, write(place.cwd / "other.md", "evil"))
    assert [server.name for server in choose("other.md").servers] == ["bundled"], "it was shown as a command"
    write(place.paths.mcp, "mine")
    assert [server.name for server in choose(str(place.paths.mcp)).servers] == ["mine", "bundled"]
