"""Finds tools by what they are called and what they take, so that a rule works with any server that offers such."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console_app.domain.schema import as_schema, choices, properties, required, types
from console_app.domain.tools import ToolSpec

ENABLE = "enable_server"  # the tool that asks the user for a server


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call to make: `arguments` is the JSON text of one object."""

    spec: ToolSpec
    arguments: str


@dataclass(frozen=True, slots=True)
class Match:
    """A tool that fits, with `keys`: the name it has for each parameter that the rule speaks of."""

    spec: ToolSpec
    keys: Mapping[str, str]

    def takes(self, parameter: str) -> bool:
        """Whether the tool has this parameter at all."""
        return parameter in self.keys

    def kind(self, parameter: str) -> str:
        """The JSON type that the tool's schema gives the parameter, or ""."""
        return kind_of(properties(self.spec.input_schema).get(self.keys[parameter]))

    def call(self, **values: Any) -> PlannedCall:
        """The call with these values, each as the type the schema asks for; what the tool doesn't take is left out."""
        arguments = {
            self.keys[name]: _fit(value, self.kind(name)) for name, value in values.items() if self.takes(name)
        }
        return PlannedCall(self.spec, json.dumps(arguments, ensure_ascii=False))


class OfflineTools:
    """The tools that are on now."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.tools = tuple(tools)
        self._enable = self.find((ENABLE,), server=("server",))
        offered = properties(self._enable.spec.input_schema).get(self._enable.keys["server"]) if self._enable else None
        self.off = tuple(map(str, choices(as_schema(offered))))  # the servers that are off and can be asked for

    def switch_on(self, server: str) -> PlannedCall | None:
        """The call that asks for a server that is off; None where there is none such."""
        return self._enable.call(server=server) if self._enable and server in self.off else None

    def find(self, names: Iterable[str], **parameters: Iterable[str]) -> Match | None:
        """The first tool with one of these names that needs nothing beyond `parameters`.

        A parameter is given with its possible names; one spelled `maybe_X` is the optional parameter X.
        """
        for name in names:
            for spec in self.tools:
                if spec.tool.lower().replace("-", "_") == name and (match := _match(spec, parameters)):
                    return match
        return None

    def lookup(self, name: str) -> ToolSpec | None:
        """The tool that people mean by `name`: `server.tool`, its wire name, or its own name where only one has it."""
        for spec in self.tools:
            if name in (spec.label, spec.name):
                return spec
        own = [spec for spec in self.tools if spec.tool == name]
        return own[0] if len(own) == 1 else None

    def label(self, wire_name: str) -> str:
        """`server.tool` of the tool with this name on the wire, or the name itself when it is not on any more."""
        return next((spec.label for spec in self.tools if spec.name == wire_name), wire_name)


def kind_of(schema: Any) -> str:
    """The JSON type of a schema; of several the first that isn't null; "" where it says none."""
    return next((kind for kind in types(schema) if kind != "null"), "")


def _match(spec: ToolSpec, parameters: Mapping[str, Iterable[str]]) -> Match | None:
    has = properties(spec.input_schema)
    keys: dict[str, str] = {}
    for name, candidates in parameters.items():
        key = next((one for one in candidates if one in has), None)
        if key is not None:
            keys[name.removeprefix("maybe_")] = key
        elif not name.startswith("maybe_"):
            return None
    return Match(spec, keys) if set(required(spec.input_schema)) <= set(keys.values()) else None


def _fit(value: Any, kind: str) -> Any:
    if kind == "string" and isinstance(value, int | float):
        return str(value)
    if kind == "integer" and not isinstance(value, int):
        try:
            return int(float(value))
        except (TypeError, ValueError, OverflowError):
            return value  # the tool will say what is wrong with it
    if kind == "array" and isinstance(value, str):
        return [value]
    return value
