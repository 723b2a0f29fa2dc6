"""The JSON of every command as types: what a command prints is made of them, and `fanout schema` shows their schemas.

A field may be added at any time. One that goes, or means something else, raises its `version` in `OUTPUTS`.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import Field, TypeAdapter, create_model

from console_app.domain import Event, batch
from console_app.headless import Output, RunReport
from console_app.records import dataclass
from console_app.sessions import Hit, SessionInfo

Type: TypeAlias = Any
State = Literal["fine", "note", "wrong"]  # of what the doctor looked at


class ParsedCallReport(Output):
    """A call that a text holds: the `form` it is written in and where it `stood`. `asks` says why a session would ask
    before it runs, null where it wouldn't."""

    name: str
    arguments: dict[str, Any]
    form: str = ""
    stood: str = ""
    asks: str | None = None


class ParseReport(Output):
    """`fanout parse`; with --jsonl a line each, with the `id` of the case."""

    calls: tuple[ParsedCallReport, ...]
    content: str
    error: Literal["truncated", "invalid"] | None
    dialect: str | None
    problems: tuple[str, ...]
    id: Any = None


class ServerFinding(Output):
    """A fact about a server, and what doesn't work because of it."""

    what: str
    breaks: str
    fails: bool = Field(description="it fails the test")


class ServerReport(Output):
    """A server: `problems` are what is wrong with it, `refused` its tools that can't be offered, with the reasons."""

    name: str
    state: str
    reason: str = Field(description="why it isn't ready, or empty")
    ok: bool
    problems: tuple[str, ...]
    findings: tuple[ServerFinding, ...] = Field(description="of `mcp test`: every one, and what it breaks")
    seconds: float = Field(description="until it had settled")
    transport: str
    protocol: str
    server: str
    tools: tuple[str, ...]
    refused: dict[str, str]
    prompts: int
    resources: int


class ServersReport(Output):
    """`fanout mcp list --json` and `fanout mcp test --json`, in the order of the file."""

    file: str | None
    ok: bool
    servers: tuple[ServerReport, ...]


class EndpointFinding(Output):
    """A trait of an endpoint, as its test saw it."""

    name: str
    seen: str
    breaks: str = Field(description="what doesn't work because of it, or empty")


class EndpointReport(Output):
    """`fanout endpoint test --json`."""

    provider: str
    model: str
    endpoint: str = Field(description="the key of its fingerprint: API, host and model")
    ok: bool = Field(description="nothing breaks")
    seconds: float
    findings: tuple[EndpointFinding, ...]


class ServerEntry(Output):
    """`fanout mcp get --json`: what the file says, secrets left out."""

    name: str
    file: str
    fields: dict[str, Any]


class ImportableServer(Output):
    """A server of another client; `there` where the own file has one of that name."""

    name: str
    starts: str
    there: bool


class ImportableFile(Output):
    """A file of another client."""

    client: str
    file: str
    problem: str
    servers: tuple[ImportableServer, ...]


class ImportableReport(Output):
    """`fanout mcp import --json`, which takes nothing over."""

    clients: tuple[ImportableFile, ...]


class FindingReport(Output):
    """A part that the doctor looked at, and what to do about it."""

    area: str
    name: str
    state: State
    says: str
    do: str


class DoctorReport(Output):
    """`fanout doctor --json`."""

    version: str
    ok: bool
    findings: tuple[FindingReport, ...]


class ModelEntry(Output):
    """A model; `context_window` in tokens where it is known."""

    name: str
    context_window: int | None


class ModelsReport(Output):
    """`fanout models --json`; `problems` are those of endpoints that could not be asked."""

    models: tuple[ModelEntry, ...]
    problems: tuple[str, ...]


class ThemeEntry(Output):
    """A theme; one is in `use`."""

    name: str
    about: str
    dark: bool
    use: bool


class ThemesReport(Output):
    """`fanout themes --json`."""

    themes: tuple[ThemeEntry, ...]
    problems: tuple[str, ...]


class KeysReport(Output):
    """`fanout auth list --json`: names, never keys."""

    keys: tuple[str, ...]


def _list_of(name: str, about: str, **field: Any) -> Type:
    """Make the type of an output that is one list."""
    fields: dict[str, Any] = {key: (tuple[kind, ...], ...) for key, kind in field.items()}
    return create_model(name, __base__=Output, __doc__=about, __module__=__name__, **fields)


SessionsReport = _list_of("SessionsReport", "`fanout sessions list --json`: the newest first.", sessions=SessionInfo)
HitsReport = _list_of("HitsReport", "`fanout sessions search --json`.", hits=Hit)
EventsReport = _list_of("EventsReport", "`fanout sessions show --json`: all that happened, in its order.", events=Event)
BatchesReport = _list_of(
    "BatchesReport", "`fanout batch status --json` and `show --json`.", batches=batch.BatchSnapshot
)


class ItemDifference(Output):
    """An item whose results differ, and in what."""

    item: str
    differences: tuple[str, ...]


class DiffReport(Output):
    """`fanout diff --json`: `items` were compared."""

    items: int
    differing: tuple[ItemDifference, ...]


class PlaceEntry(Output):
    """A file or folder of Fanout's."""

    name: str
    path: str
    exists: bool


class PlacesReport(Output):
    """`fanout config path --json`."""

    places: tuple[PlaceEntry, ...]


class SettingEntry(Output):
    """A setting: null where it is not set; `source` is the layer that said it."""

    name: str
    value: Any
    source: str


class ListedSetting(Output):
    """A setting with what it may be and what it means. `waits_for_trust` is what the project's file would set."""

    name: str
    value: Any
    source: str
    kind: str
    choices: tuple[str, ...]
    meaning: str
    waits_for_trust: str | None


class SettingListReport(Output):
    """`fanout config list --json`: every setting."""

    settings: tuple[ListedSetting, ...]


class RuleEntry(Output):
    """A rule of the settings."""

    action: str
    pattern: str
    source: str


class SettingsReport(Output):
    """`fanout config show --json`; headers, which may hold keys, are hidden."""

    model: str = Field(description="the model that answers")
    why: str
    settings: tuple[SettingEntry, ...]
    rules: tuple[RuleEntry, ...]


class ValidationReport(Output):
    """`fanout config validate --json`; `waiting` is what of the project's file waits for trust."""

    ok: bool
    problems: tuple[str, ...]
    waiting: tuple[str, ...]


class SchemaEntry(Output):
    """An output that has a schema."""

    name: str
    version: int
    printed_by: str


class SchemasReport(Output):
    """`fanout schema --json`."""

    schemas: tuple[SchemaEntry, ...]


@dataclass(frozen=True, slots=True)
class Printed:
    """The command that prints an output, the output's type, and its version."""

    by: str
    type: Type
    version: int = 1


OUTPUTS: dict[str, Printed] = {
    "event": Printed(
        "a line of run --output-format stream-json, sessions show --jsonl and export --format jsonl", Event
    ),
    "run": Printed("run and call --output-format json", RunReport),
    "result": Printed("a line of the results of batch and call --from", batch.ItemResult),
    "batch": Printed("a line of batch status --jsonl and show --jsonl", batch.BatchSnapshot),
    "batches": Printed("batch status --json and show --json", BatchesReport),
    "diff": Printed("diff --json", DiffReport),
    "parse": Printed("parse, and a line of parse --jsonl", ParseReport),
    "servers": Printed("mcp list --json, mcp test --json", ServersReport),
    "server": Printed("mcp get --json", ServerEntry),
    "endpoint": Printed("endpoint test --json", EndpointReport),
    "importable": Printed("mcp import --json", ImportableReport),
    "session": Printed("a line of sessions list --jsonl", SessionInfo),
    "sessions": Printed("sessions list --json", SessionsReport),
    "hit": Printed("a line of sessions search --jsonl", Hit),
    "hits": Printed("sessions search --json", HitsReport),
    "events": Printed("sessions show --json", EventsReport),
    "doctor": Printed("doctor --json", DoctorReport),
    "models": Printed("models --json", ModelsReport),
    "themes": Printed("themes --json", ThemesReport),
    "keys": Printed("auth list --json", KeysReport),
    "places": Printed("config path --json", PlacesReport),
    "settings": Printed("config show --json", SettingsReport),
    "setting_list": Printed("config list --json", SettingListReport),
    "validation": Printed("config validate --json", ValidationReport),
    "schemas": Printed("schema --json", SchemasReport),
}


def schema(name: str) -> dict[str, Any]:
    """Return the JSON schema of an output, draft 2020-12; its `$id` ends with its version."""
    printed = OUTPUTS[name]
    made = TypeAdapter[Any](printed.type).json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:fanout:output:{name}:{printed.version}",
        "$comment": f"fanout {printed.by}",
        **made,
    }
