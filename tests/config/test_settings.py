"""Settings: which layer wins, and what is said of a mistake in one of them."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from console_app.config.files import Paths
from console_app.config.files.trusted import trust
from console_app.config.settings import LayeredSettings, Settings, model, unknown_variables
from console_app.domain.approvals import ApprovalMode, CallPolicy
from console_app.domain.errors import ConfigError
from console_app.domain.settings import DEFAULTS

Load = Callable[..., LayeredSettings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads settings with the given user file, project file, environment and flags."""

    def _load(
        user: str = "",
        project: str = "",
        env: Mapping[str, str] | None = None,
        allow: Sequence[str] = (),
        forgiving: bool = False,
        **flags: Any,
    ) -> LayeredSettings:
        paths, cwd = Paths.find({"FANOUT_HOME": str(tmp_path / "home")}), tmp_path / "work"
        for path, text in ((paths.settings, user), (Paths.project_settings(cwd), project)):
            if text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        environ = env or {}
        return LayeredSettings.load(paths, cwd=cwd, flags=flags, environ=environ, allow=allow, forgiving=forgiving)

    return _load


def complaint(load: Load, **given: Any) -> str:
    with pytest.raises(ConfigError) as error:
        load(**given)
    return error.value.line


def test_without_any_file_everything_has_its_default(load: Load) -> None:
    settings = load().settings
    assert (settings.model, settings.policy, settings.max_steps) == (None, None, 25)
    assert settings.approval_mode is ApprovalMode.AUTO


@pytest.mark.parametrize("strongest", ["flag", "environment", "project", "user", "default"])
def test_a_flag_beats_the_environment_beats_the_project_beats_the_user(
    load: Load, tmp_path: Path, strongest: str
) -> None:
    order = ["flag", "environment", "project", "user", "default"]
    said = order[order.index(strongest) :]
    given: dict[str, Any] = {}
    if "flag" in said:
        given["max_steps"] = 1
    if "environment" in said:
        given["env"] = {"FANOUT_MAX_STEPS": "2"}
    if "project" in said:
        given["project"] = "max_steps = 3"
        trust(
            Paths.find({"FANOUT_HOME": str(tmp_path / "home")}),
            Paths.project_settings(tmp_path / "work"),
            "max_steps = 3",
        )
    if "user" in said:
        given["user"] = "max_steps = 4"
    expected = {"flag": 1, "environment": 2, "project": 3, "user": 4, "default": 25}[strongest]
    assert load(**given).settings.max_steps == expected


def test_each_setting_knows_who_said_it(load: Load, tmp_path: Path) -> None:
    loaded = load(user='theme = "plum"\nmodel = "a/b"', env={"FANOUT_MODEL": "c/d"}, policy="single")
    assert loaded.sources == {
        "policy": "the command line",
        "model": "the environment",
        "theme": str(tmp_path / "home" / "config.toml"),
    }
    assert loaded.settings.policy is CallPolicy.SINGLE


def test_tables_of_two_files_are_merged_key_by_key(load: Load) -> None:
    loaded = load(user='[keys]\nsend = "ctrl+x"\n"call.cancel" = ["x", "delete"]')
    assert loaded.settings.keys == {"send": "ctrl+x", "call.cancel": "x,delete"}


def test_rules_of_all_layers_count_and_keep_their_source(load: Load) -> None:
    loaded = load(user='[rules]\nallow = ["git.*"]', project='[rules]\ndeny = ["git.push"]', allow=("demo.*",))
    found = [(rule.action, rule.pattern, Path(rule.source).name) for rule in loaded.rules]
    assert found == [
        ("allow", "demo.*", "the command line"),
        ("deny", "git.push", "config.toml"),
        ("allow", "git.*", "config.toml"),
    ]


def test_zero_seconds_is_no_limit(load: Load) -> None:
    assert load(user="call_timeout = 0\ntimeout = 0").settings.call_timeout is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('modle = "a/b"', '1:1: unknown key "modle". Did you mean "model"?'),
        (
            "# x\n\n[providers.foo]\n  api_key = 1",
            '4:3: unknown key "providers.foo.api_key". Did you mean "api_key_env"?',
        ),
        ('[providers.p.models."a/b"]\nprotocl = 1', '2:1: unknown key "providers.p.models.a/b.protocl". Did you mean'),
        ("[rules]\nalow = []", '2:1: unknown key "rules.alow". Did you mean "allow"?'),
        ('[rulse]\nallow = ["x"]', '1:2: unknown key "rulse". Did you mean "rules"?'),
        ('\npolicy = "paralel"', "2:1: policy should be 'parallel', 'sequential' or 'single'"),
        ("max_steps = 0", "1:1: max_steps should be greater than or equal to 1"),
        ("call_timeout = -1", "1:1: call_timeout should be greater than or equal to 0"),
        ("x = ", "1:5: invalid value"),
        ("x = [1,\n2\n", "3:1: unclosed array"),
        ('[providers.p]\nbase_url = "localhost:80"', "2:1: providers.p.base_url is no URL"),
        (
            '[providers.p]\napi_key_env = "sk-12 34"',
            "2:1: providers.p.api_key_env has to be the name of",
        ),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_place(load: Load, tmp_path: Path, text: str, expected: str) -> None:
    line = complaint(load, user=text)
    assert line.startswith(f"Configuration: {tmp_path / 'home' / 'config.toml'}:{expected}")
    assert "\n" not in line


def test_a_mistake_in_the_file_is_told_though_a_flag_stands_in_its_place(load: Load, tmp_path: Path) -> None:
    line = complaint(load, user='[model]\nname = "gpt"\n', model="offline/rehearsal")
    assert line.startswith(f"Configuration: {tmp_path / 'home' / 'config.toml'}:1:2: model should be a valid string")


def test_a_key_pasted_in_the_wrong_place_is_not_printed(load: Load) -> None:
    assert "sk-secret" not in complaint(load, user='[providers.p]\napi_key_env = "sk-secret."')
    assert "sk-secret" not in complaint(load, user='[providers.p]\nheaders = ["sk-secret"]')


def test_a_mistake_in_a_variable_or_flag_names_it(load: Load) -> None:
    assert "FANOUT_POLICY: policy should be" in complaint(load, env={"FANOUT_POLICY": "paralel"})
    assert "--base-url: base_url is no URL" in complaint(load, base_url="htp:/x")


def test_a_file_that_is_not_utf8_names_the_byte(load: Load, tmp_path: Path) -> None:
    path = tmp_path / "home" / "config.toml"
    path.parent.mkdir()
    path.write_bytes(b'model = "\xff"')
    assert f"{path}: byte 9 is not UTF-8" in complaint(load)


LOOSER = [
    '[providers.openai]\nbase_url = "http://evil/v1"',
    'base_url = "http://evil/v1"',
    '[providers.x]\napi_key_env = "AWS_SECRET_ACCESS_KEY"',
    'approval_mode = "yolo"',
    '[rules]\nallow = ["*"]',
    'mcp_config = "mine.json"',
    'model = "scripted/evil.toml"',
    'system_prompt = "obey"',
    "save_sessions = false",
    "call_timeout = 0",
    "call_timeout = 0.001",
    "timeout = 0.001",
    "max_steps = 1",
    "max_calls = 1",
    "max_parallel = 1",
    "max_price = 0.001",
    "max_tokens = 1",
    "max_turn_tokens = 1",
    "max_result_chars = 1",
    "approval_timeout = 0.001",
    "question_timeout = 0.001",
    "[limits]\ngit = 1",
    "approval_timeout = 900",
    "question_timeout = 900",
    "max_steps = 1000",
    "max_calls = 1000",
    "max_parallel = 1000",
    "max_price = 100",
    "max_result_chars = 1000000",
    'protocol = "text"',
    'dialect = "hermes_json"',
    'policy = "parallel"',
    'dispatch = "eager"',
    'strategy = "react"',
    "finish_todos = true",
    'tools = "search"',
    'programs = "only"',
    'send_agents = "off"',
    "max_agents = 100",
    "agent_steps = 1000",
    "ask_agents = 100",
    "ask_agent_cost = 100",
    "background_after = 5",
    'builtin_tools = ["finished"]',
    "[extra_body]\nx = 1",
    "temperature = 2",
    "[limits]\ngit = 9",
    '[agents.x]\ncommand = "evil"',
    'agent_registry = "evil.json"',
]
USER = """
policy = "sequential"
dispatch = "batch"
approval_timeout = 60
question_timeout = 60
max_price = 1
[limits]
git = 2
"""


@pytest.mark.parametrize("text", LOOSER)
def test_what_a_projects_file_loosens_waits_until_that_very_file_is_trusted(
    load: Load, tmp_path: Path, text: str
) -> None:
    alone = load(user=USER)
    loaded = load(user=USER, project=text)
    assert (loaded.settings, loaded.rules) == (alone.settings, alone.rules)
    assert loaded.project is not None
    assert len(loaded.project.lines) == 1
    assert "in force only where it tightens" in loaded.notes[0]
    assert "fanout trust" in loaded.notes[0]

    paths, file = Paths.find({"FANOUT_HOME": str(tmp_path / "home")}), Paths.project_settings(tmp_path / "work")
    trust(paths, file, text)
    trusted = load(user=USER, project=text)
    assert (trusted.settings, trusted.rules) != (alone.settings, alone.rules)
    assert loaded.project.lines[0] in trusted.notes[0]
    assert "which you trusted, sets" in trusted.notes[0]

    other = load(user=USER, project=f"{text}  # one more")
    assert (other.settings, other.rules) == (alone.settings, alone.rules)


# A value of each other setting that a checkout might bring along.
OTHERS = (
    'model = "openai/evil"',
    'base_url = "https://evil.test/v1"',
    'fallback = "openai/evil"',
    "notifications = []",
    "window_title = false",
    "[ui]\nscreen_reader = true",
    'tool_choice = "required"',
    "dedupe = false",
    'mcp_config = "other.json"',
    'trace = "https://evil.test"',
    "trace_contents = true",
    'groups = ["admins"]',
    '[injected]\n_atlas_user = "evil"',
    '[providers.openai]\nbase_url = "https://evil.test/v1"',
    'stop = ["x"]',
    'effort = "max"',
    'parallel_tool_calls = "refuse"',
    'cache = "off"',
    'mcp_registry = "official"',
)
TIGHTENING = {
    "theme": '"fanout-light"',
    "never_parallel": '["*"]',
}


@pytest.mark.parametrize("text", OTHERS)
def test_what_else_a_projects_file_sets_waits_too(load: Load, text: str) -> None:
    alone, loaded = load(user=USER), load(user=USER, project=text)
    assert (loaded.settings, loaded.rules) == (alone.settings, alone.rules)
    assert loaded.project is not None
    assert loaded.project.lines


def test_every_setting_is_one_of_those_that_were_tried(load: Load) -> None:
    tried = {re.split(r"[\[\].= ]+", text.strip("["))[0] for text in (*LOOSER, *OTHERS)}
    assert set(Settings.model_fields) == tried - {"rules"} | set(TIGHTENING) | {"hooks", "keys"}
    whole = load(user=USER, project="\n".join(f"{name} = {value}" for name, value in TIGHTENING.items()))
    assert whole.project is not None
    assert whole.project.lines == ()


def _numbers() -> list[str]:
    """The settings that are a number, as pydantic describes them."""
    properties: dict[str, Any] = Settings.model_json_schema()["properties"]
    kinds = {name: {one.get("type") for one in (rule, *rule.get("anyOf", ()))} for name, rule in properties.items()}
    return sorted(name for name, kind in kinds.items() if kind & {"integer", "number"})


@pytest.mark.parametrize("name", _numbers())
def test_a_limit_of_a_project_waits_whether_it_is_lower_or_higher(load: Load, name: str) -> None:
    """A tiny one would end every turn before anybody trusted the file."""
    mine, others = (1, (0.5, 1.5)) if name == "temperature" else (10, (1, 5, 20))
    for value in others:
        loaded = load(user=f"{name} = {mine}", project=f"{name} = {value}")
        assert getattr(loaded.settings, name) == mine
        assert loaded.project is not None
        assert loaded.project.lines


@pytest.mark.parametrize(
    ("mine", "project", "expected"),
    [
        ("", "parallel", None),  # protocol xml runs one call a message where no policy was chosen
        ("", "sequential", None),
        ("", "single", CallPolicy.SINGLE),
        ('policy = "parallel"', "sequential", CallPolicy.SEQUENTIAL),
        ('policy = "single"', "sequential", CallPolicy.SINGLE),
    ],
)
def test_a_projects_policy_is_never_looser(load: Load, mine: str, project: str, expected: CallPolicy | None) -> None:
    assert load(user=mine, project=f'policy = "{project}"').settings.policy is expected


def test_a_project_file_never_moves_keys(load: Load) -> None:
    line = complaint(load, project='[keys]\napprove = "enter"')
    assert "a project file can't set keys" in line
    assert "fanout config path" in line


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ('approval_mode = "ask"', "approval_mode", ApprovalMode.ASK),
        ('policy = "single"', "policy", CallPolicy.SINGLE),
        ('theme = "plum"', "theme", "plum"),
        ('never_parallel = ["git.*"]', "never_parallel", ("db.*", "git.*")),
    ],
)
def test_a_project_file_tightens_at_once(load: Load, text: str, name: str, expected: object) -> None:
    user = 'approval_mode = "yolo"\nnever_parallel = ["db.*"]'
    loaded = load(user=user, project=text)
    assert getattr(loaded.settings, name) == expected
    assert loaded.notes == ()


def test_a_project_does_not_turn_plan_mode_into_one_that_asks(load: Load) -> None:
    loaded = load(user='approval_mode = "plan"', project='approval_mode = "ask"')
    assert loaded.settings.approval_mode is ApprovalMode.PLAN
    assert "approval_mode" in loaded.notes[0]


def test_rules_of_a_project_that_ask_or_deny_count_beside_one_that_waits(load: Load) -> None:
    loaded = load(project='[rules]\nallow = ["a.b"]\nask = ["c.d"]\ndeny = ["e.f"]')
    assert [(rule.action, rule.pattern) for rule in loaded.rules] == [("deny", "e.f"), ("ask", "c.d")]
    assert loaded.project is not None
    assert loaded.project.lines == ('rules.allow = ["a.b"]',)


def test_a_mistake_in_a_projects_file_is_told_though_it_is_not_trusted(load: Load) -> None:
    assert 'unknown key "modle"' in complaint(load, project='modle = "x"')
    assert "rules.allow" in complaint(load, project='[rules]\nallow = ["a.b("]')
    assert "max_steps" in complaint(load, project="max_steps = 0")


FAULTY = {
    'deny = ["a.b(", "c.d"]': "rules.deny.0",
    'deny = "c.d"': "rules.deny takes a list",
    "deny = [5]": "rules.deny.0",
    "allow = 3": "rules.allow takes a list",
    "newer = 1": 'unknown key "rules.newer"',
    'max_steps = 0\nmodle = 1\nkeys = {a = "b"}': "max_steps",
    "limits = 3": "limits takes a table",
}


@pytest.mark.parametrize("text", FAULTY)
def test_a_fault_is_named_and_forgiven_only_until_somebody_trusts_the_file(
    load: Load, tmp_path: Path, text: str
) -> None:
    project = text if text.startswith(("max", "limits")) else f"[rules]\n{text}"
    (line,) = load(project=project, forgiving=True).wrong
    assert line.startswith(str(tmp_path))
    assert FAULTY[text] in line
    for name in ("max_steps", "modle", "keys"):
        assert (name in line) == (name in text)
    paths = Paths.find({"FANOUT_HOME": str(tmp_path / "home")})
    trust(paths, Paths.project_settings(tmp_path / "work"))
    with pytest.raises(ConfigError):
        load(project=project, forgiving=True)


def test_of_many_faults_the_rules_that_deny_are_named_and_the_rest_is_counted(load: Load) -> None:
    many = "".join(f"unknown{number} = {number}\n" for number in range(3_000))
    rules = "[rules]\nallow = [1, 2, 3, 4, 5, 6, 7, 8, 9]\nask = 3\ndeny = [1, 'a.b']\n"
    loaded = load(project=many + rules, forgiving=True)
    (line,) = loaded.wrong
    assert line.index("rules.deny.0") < line.index("rules.allow.0")
    assert "; and 3003 more" in line
    assert [rule.pattern for rule in loaded.rules] == ["a.b"]


def test_a_variable_that_is_no_setting_is_found() -> None:
    environ = {"FANOUT_MODLE": "x", "FANOUT_MODEL": "x", "FANOUT_HOME": "x", "PATH": "x"}
    assert unknown_variables(environ) == ["FANOUT_MODLE"]


def test_lists_can_be_written_with_commas_and_limits_are_a_table(load: Load) -> None:
    loaded = load(
        user='never_parallel = ["git.*"]\nstrategy = "react"\n[limits]\ngit = 1\n"demo.*" = 2',
        env={"FANOUT_BUILTIN_TOOLS": "update_todo_list, finished", "FANOUT_MAX_PRICE": "0.5"},
    )
    settings = loaded.settings
    assert settings.builtin_tools == ("update_todo_list", "finished")
    assert (settings.never_parallel, settings.limits) == (("git.*",), {"git": 1, "demo.*": 2})
    assert (settings.strategy, settings.max_price) == ("react", 0.5)
    assert load(user="max_price = 0").settings.max_price is None
    assert "FANOUT_BUILTIN_TOOLS: builtin_tools" in complaint(load, env={"FANOUT_BUILTIN_TOOLS": "todo"})
    assert "limits.git" in complaint(load, user="[limits]\ngit = 0")


def test_a_base_url_of_the_file_stays_with_the_provider_of_its_model(load: Load) -> None:
    user, url = 'model = "openai/mine"\nbase_url = "http://localhost:8000/v1"\n', "http://localhost:8000/v1"
    assert load(user).settings.base_url == url
    assert load(user, model="openai/other").settings.base_url == url
    assert load(user, model="gpt-5").settings.base_url == url
    other = load(user, model="anthropic/claude")
    assert (other.settings.base_url, other.sources.get("base_url")) == (None, None)
    assert load(user, env={"FANOUT_MODEL": "claude-opus"}).settings.base_url is None
    named = load(user, model="anthropic/claude", base_url="http://localhost:9/v1")
    assert named.settings.base_url == "http://localhost:9/v1"


def test_a_default_that_the_engine_has_too_is_written_down_once() -> None:
    """An engine without a file of settings behaves as one with an empty file, and one line decides how."""
    (body,) = (
        one.body
        for one in ast.parse(inspect.getsource(model)).body
        if isinstance(one, ast.ClassDef) and one.name == "Settings"
    )
    written = {
        one.target.id: ast.unparse(one.value)
        for one in body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and one.value is not None
    }
    engine = {field.name: getattr(DEFAULTS, field.name) for field in dataclasses.fields(DEFAULTS)}
    shared = {name for name in written.keys() & engine.keys() if getattr(Settings(), name) == engine[name]}
    assert len(shared) > 10
    assert not [name for name in shared if f"DEFAULTS.{name}" not in written[name]]
    apart = {name for name in written.keys() & engine.keys() if getattr(Settings(), name) != engine[name]}
    assert apart == {"policy", "builtin_tools", "system_prompt"}, "not said is not a default of the engine"
