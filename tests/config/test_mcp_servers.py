"""mcp.json: every shape that clients write, and each mistake with its place and what was meant."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.config.servers import json_positions, load_mcp_config, read_mcp_config
from console_app.config.servers.mcp_servers import McpConfig
from console_app.domain.errors import ConfigError
from tests.each import each

FILE = Path("mcp.json")
ROOT = Path(__file__).parents[2]
GIT = {"command": "uvx", "args": ["mcp-server-git"]}


def read(value: Any, **environ: str) -> McpConfig:
    return read_mcp_config(value if isinstance(value, str) else json.dumps(value), FILE, environ)


def problems(config: McpConfig) -> list[str]:
    return [str(problem) for problem in config.problems]


@each(
    "value",
    [
        {"mcpServers": {"git": GIT}},
        {"servers": {"git": {"type": "stdio", **GIT}}, "inputs": []},
        {"mcp": {"servers": {"git": GIT}}},
        {"git": GIT},
        {"mcpServers": {"git": {"command": ["uvx", "mcp-server-git"]}}},
        {"mcpServers": {"git": {"command": ["uvx"], "args": ["mcp-server-git"]}}},
    ],
    ids=["mcpServers", "VS Code", "VS Code settings", "plain map", "command as a list", "list and args"],
)
def test_the_shapes_that_other_clients_write_are_read(value: Any) -> None:
    config = read(value)
    (server,) = config.servers
    assert (server.name, server.command, server.args) == ("git", "uvx", ("mcp-server-git",))
    assert server.kind == "stdio"
    assert problems(config) == []


def test_every_field_of_a_server_is_read() -> None:
    fields = {
        "url": "https://example.com/mcp",
        "headers": {"Authorization": "Bearer ${TOKEN}", "X-Retries": 3, "X-Debug": True},
        "transport": "streamable-http",
        "disabled": False,
        "groups": "web",
        "require_approval": ["delete", "write"],
        "timeout": 30,
        "max_concurrency": 4,
        "description": "The web",
    }
    (server,) = read({"mcpServers": {"web": fields}}, TOKEN="t0p").servers
    assert (server.url, server.kind, server.timeout, server.max_concurrency) == (fields["url"], "http", 30, 4)
    assert server.headers == {"Authorization": "Bearer t0p", "X-Retries": "3", "X-Debug": "true"}
    assert (server.groups, server.require_approval) == (("web",), ("delete", "write"))
    assert "t0p" not in repr(server)


@each(
    ("fields", "headers", "auth"),
    [
        ({"auth_type": "api_key", "auth_token": "${KEY}"}, {"X-API-Key": "k"}, "none"),
        ({"auth_type": "api_key", "auth_token": "k", "auth_header": "X-Key"}, {"X-Key": "k"}, "none"),
        ({"auth_token": "k"}, {}, {"type": "bearer", "token": "k"}),
        ({"auth_type": "jwt", "auth_token": "k"}, {}, {"type": "bearer", "token": "k"}),
        ({"auth_type": "oauth"}, {}, "oauth"),
        ({"auth_type": "OAuth", "oauth_config": {"callback_port": 8123}}, {}, {"type": "oauth", "redirect_port": 8123}),
        ({"auth_type": "none"}, {}, "none"),
    ],
)
def test_the_keys_that_atlas_has_for_signing_in_are_used(fields: Any, headers: Any, auth: Any) -> None:
    config = read({"mcpServers": {"web": {"url": "https://example.com/mcp", **fields}}}, KEY="k")
    (server,) = config.servers
    assert (dict(server.headers), server.auth, problems(config)) == (headers, auth, [])


@each(
    ("fields", "why"),
    [
        ({"auth_type": "api_key"}, "`auth_type` api_key needs an `auth_token`"),
        ({"auth_type": "magic"}, "`auth_type` is 'magic'; known are none, api_key, bearer, jwt, oauth"),
        ({"auth_type": "none", "auth": "none"}, "has both `auth` and `auth_type`: keep one"),
        ({"auth_type": "jwt", "auth_token": "k", "auth_header": "X"}, "`auth_header` goes with `auth_type` api_key"),
        ({"roots": "here"}, '`roots`: must be "cwd", "none" or a list of folders'),
    ],
)
def test_what_is_refused_of_a_server_says_why(fields: Any, why: str) -> None:
    (server,) = read({"mcpServers": {"web": {"url": "https://example.com/mcp", **fields}}}).servers
    assert why in server.problem


@each(
    ("fields", "key", "why"),
    [
        (
            {"url": "https://a.example", "oauth_config": {"scopes": ["a"], "client_name": "Me"}},
            "oauth_config",
            "not `cl",
        ),
        ({"command": "x", "auth_type": "bearer", "auth_token": "k"}, "auth_token", "what it needs goes into `env`"),
        ({"command": "x", "auth_type": "oauth"}, "auth_type", "signs in nowhere"),
    ],
)
def test_what_has_no_effect_says_so_and_the_server_is_used(fields: Any, key: str, why: str) -> None:
    config = read({"mcpServers": {"web": fields}})
    (server,) = config.servers
    found = {problem.key.rpartition(".")[2]: problem for problem in config.problems}
    assert why in found[key].text
    assert not found[key].fatal
    assert server.problem == ""
    assert read({"mcpServers": {"web": {"command": "x", "auth_type": "none"}}}).problems == ()


@each(
    ("fields", "disabled"),
    [
        ({"enabled": False}, True),
        ({"enabled": True}, False),
        ({"enabled": True, "disabled": True}, True),
        ({"enabled": False, "disabled": False}, True),
        ({"enabled": False, "env": {"A": "${NOT_SET}"}}, True),
    ],
)
def test_enabled_is_the_opposite_of_disabled_and_what_either_switches_off_is_off(fields: Any, disabled: bool) -> None:
    config = read({"mcpServers": {"web": {"command": "x", **fields}}})
    assert (config.servers[0].disabled, problems(config)) == (disabled, [])


def test_what_is_said_of_a_server_for_people_is_kept() -> None:
    said = {"short_description": "Web", "author": "Ada", "help_email": "ada@example.org", "compliance_level": "Public"}
    config = read({"mcpServers": {"web": {"url": "https://example.com/mcp", "groups": ["staff"], **said}}})
    assert problems(config) == []
    assert config.servers[0].facts == ("groups staff", "by Ada", "help ada@example.org", "compliance Public")


def test_comments_trailing_commas_and_a_byte_order_mark_are_read() -> None:
    text = '\ufeff{ // servers\n "mcpServers": { /* one\n */ "a": {"command": "x//y", "args": ["/*", ",]",],}, }, }'
    (server,) = read(text).servers
    assert (server.command, server.args) == ("x//y", ("/*", ",]"))


def test_variables_are_filled_in_inside_values() -> None:
    fields = {"command": "${BIN}/run", "args": ["--key=${KEY:-none}", "${env:BIN}"], "env": {"A": "${EMPTY:-x}"}}
    (server,) = read({"mcpServers": {"a": fields}}, BIN="/none/such", EMPTY="").servers
    assert (server.command, server.args, server.env) == ("/none/such/run", ("--key=none", "/none/such"), {"A": "x"})


def test_an_unset_variable_fails_its_server_alone_and_is_named() -> None:
    a = '"a": {"url": "http://x",\n        "headers": {"Key": "${NOPE}"}}'
    text = f'{{"mcpServers": {{\n  {a},\n  "b": {{"command": "x"}}}}}}'
    config = read(text)
    first, second = config.servers
    assert first.problem == "the environment variable NOPE is not set (mcp.json:3:21)"
    assert second.problem == ""
    (problem,) = config.problems
    assert (problem.server, problem.fatal) == ("a", True)
    assert str(problem) == "mcp.json:3:21: mcpServers.a.headers.Key: the environment variable NOPE is not set"


def test_an_unset_variable_of_a_disabled_server_is_no_problem() -> None:
    config = read({"mcpServers": {"a": {"command": "x", "env": {"K": "${NOPE}"}, "disabled": True}}})
    assert problems(config) == []
    assert config.servers[0].disabled
    assert config.servers[0].problem == "the environment variable NOPE is not set"  # once it is switched on


def test_variables_of_a_disabled_server_are_filled_in_for_when_it_is_switched_on() -> None:
    servers = {"a": {"command": "x", "env": {"K": "${NOPE:-this}"}, "disabled": True}}
    (server,) = read({"mcpServers": servers}).servers
    assert (server.env, server.problem) == ({"K": "this"}, "")


@each(
    ("fields", "problem"),
    [
        (
            {"command": "x", "timeout": -1},
            "mcp.json:1:39: mcpServers.a.timeout: `timeout`: input should be greater than 0",
        ),
        ({"command": 7}, "mcp.json:1:23: mcpServers.a.command: `command`: input should be a valid string"),
        ({}, "mcp.json:1:17: mcpServers.a: needs a `command` to start or a `url` to connect to"),
        (
            {"command": "x", "url": "http://x"},
            "mcp.json:1:17: mcpServers.a: has both a `command` and a `url`: keep one",
        ),
        ({"url": "x.com"}, "mcp.json:1:17: mcpServers.a: `url` must start with http:// or https://"),
        ({"command": "x", "type": "sse"}, "mcp.json:1:17: mcpServers.a: transport sse needs a `url`"),
        (5, "mcp.json:1:17: mcpServers.a: must be an object"),
        (
            {"command": "${input:key}"},
            "mcp.json:1:23: mcpServers.a.command: "
            "`${input:key}` can't be filled in; only ${VAR} and ${VAR:-default} can",
        ),
    ],
)
def test_a_server_written_wrongly_is_a_problem_of_that_server_alone(fields: Any, problem: str) -> None:
    config = read({"mcpServers": {"a": fields, "b": GIT}})
    assert problems(config) == [problem]
    assert [bool(server.problem) for server in config.servers] == [True, False]


@each(
    ("key", "text"),
    [
        ("comand", "unknown key; did you mean `command`?"),
        ("ARGS", "unknown key; did you mean `args`?"),
        ("max_concurency", "unknown key; did you mean `max_concurrency`?"),
        ("zebra", "unknown key, ignored"),
    ],
)
def test_an_unknown_key_is_a_warning_with_the_key_that_was_meant(key: str, text: str) -> None:
    config = read('{"mcpServers": {"a": {\n  "command": "x",\n    "' + key + '": 1}}}')
    assert problems(config) == [f"mcp.json:3:5: mcpServers.a.{key}: {text}"]
    assert config.servers[0].problem == ""


def test_a_server_given_twice_is_a_warning() -> None:
    config = read('{"mcpServers": {"a": {"command": "x"},\n "a": {"command": "y"}}}')
    assert problems(config) == ["mcp.json:2:2: mcpServers.a: given twice; the last one counts"]
    assert config.servers[0].command == "y"


@each(
    ("text", "detail"),
    [
        ('{"mcpServers": {\n  "a": {"command": "x"}\n  "b": {}}}', "mcp.json:3:3: Expecting ',' delimiter"),
        ("", "mcp.json:1:1: Expecting value"),
        ("[]", "mcp.json:1:1: must be an object with a key mcpServers"),
        ('{"mcpserver": {}}', "mcp.json:1:2: mcpserver: has no key mcpServers; did you mean that by `mcpserver`?"),
        ('{"mcpServers": []}', "mcp.json:1:2: mcpServers: must be an object: server name to server"),
        ("[" * 100_000, "mcp.json:1:1: nested too deeply"),
    ],
)
def test_a_broken_file_is_an_error_with_line_and_column(text: str, detail: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert caught.value.detail == detail
    assert caught.value.hint


def test_a_missing_file_and_one_that_is_no_text_say_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file or directory"):
        load_mcp_config(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(ConfigError, match=r"not UTF-8 text \(byte 7\)"):
        load_mcp_config(tmp_path / "latin.json")


def test_the_bundled_file_switches_the_calculator_and_the_demo_on() -> None:
    config = load_mcp_config(ROOT / "mcp.json", {})
    assert [server.name for server in config.servers if not server.disabled] == ["calculator", "demo"]
    assert problems(config) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON, st.sampled_from([None, 1, 3]))
def test_every_value_is_found_where_it_stands(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    document = json_positions.parse(text)
    assert document.value == value
    for path, offset in document.offsets.items():
        assert 0 <= offset < len(text)
        if isinstance(path[-1], str):
            assert json.JSONDecoder().raw_decode(text, offset)[0] == path[-1]


@given(st.text() | st.text(alphabet='{}[]",:/*\\ \n1a'))
def test_no_text_at_all_makes_reading_fail_in_another_way(text: str) -> None:
    with suppress(ConfigError):
        read(text)
