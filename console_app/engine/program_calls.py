"""Programs as calls: the tool that runs one, the functions it has, and the way of a tool's result into it."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from asyncio import Future
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from console_app.domain import ToolResult, ToolSpec, errors, one_line, ports
from console_app.domain import events as ev
from console_app.domain import schema as json_schema
from console_app.domain.tools import OWN_SERVER, ToolAnnotations

MOST_SIGNATURES = 200  # that the tool's description lists
_ABOUT = 120  # characters of what a tool does
_TAKEN = frozenset((*keyword.kwlist, *vars(builtins), *sys.stdlib_module_names))  # names that mean something else
_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict"}
_WORDS = (
    "Runs a Python program that calls tools, for many calls whose results feed further calls or are summed up. "
    "{functions} Await them; asyncio.gather runs calls in parallel. One that fails or is denied raises RuntimeError. "
    "Results are values where the tool gives structured ones, else text. There is no input or output but print() and "
    "the value of the last expression: both are the result. Part of the standard library is there (json, re, math, "
    "datetime, collections, itertools; of asyncio gather, without return_exceptions). There are no yield, del and "
    "async with."
)

Made = Callable[[str, ToolSpec, ports.ProgramCall], Future[ToolResult]]


def _spec(functions: str) -> ToolSpec:
    code = {"type": "string", "description": "The program. `await` may stand at its top level."}
    return ToolSpec(
        name=f"{OWN_SERVER}_{ev.PROGRAM}",
        server=OWN_SERVER,
        tool=ev.PROGRAM,
        description=_WORDS.format(functions=functions),
        input_schema=json_schema.object_of({"code": code}, ["code"]),
        annotations=ToolAnnotations(read_only=True, destructive=False, open_world=False),
        timeout=0,  # its calls may wait for a person; its own work has a limit of its own
        builtin=True,
    )


PROGRAM_SPEC = _spec(
    "Every tool that you have is an async function of its name, with `_` for any other sign, and its parameters."
)  # where the model has the tools, too


def program_alone(tools: Iterable[ToolSpec]) -> ToolSpec:
    signatures = [_signature(name, spec) for name, spec in functions_of(tools).items()]
    return _spec("These async functions are there:\n" + "\n".join(signatures[:MOST_SIGNATURES]) + "\n")


def functions_of(tools: Iterable[ToolSpec]) -> dict[str, ToolSpec]:
    named: dict[str, ToolSpec] = {}
    for spec in tools:
        name = re.sub(r"\W", "_", spec.name, flags=re.ASCII)
        name = f"_{name}" if name[:1].isdigit() or name in _TAKEN else name
        while name in named:
            name += "_"
        if not spec.builtin:
            named[name] = spec
    return named


async def run_program(
    runner: ports.ProgramRunner,
    invocation: ports.Invocation,
    code: str,
    tools: Iterable[ToolSpec],
    made: Made,
    reporter: ports.CallReporter,
    session_id: str,
) -> ToolResult:
    """Run a program, or let one go on that was cut; `made` runs a call of it as one of its own."""
    functions = functions_of(tools)

    def call(asked: ports.ProgramCall) -> Future[ToolResult]:
        if (spec := functions.get(asked.name)) is None:
            raise errors.ToolError(f"{asked.name} is not there any more")
        return made(invocation.call_id, spec, asked)

    parameters = {
        name: [
            *json_schema.properties(spec.input_schema),
            *(() if json_schema.is_closed(spec.input_schema) else ["**"]),
        ]
        for name, spec in functions.items()
    }
    program = ports.ProgramToRun(code, parameters, key_of(session_id, invocation.call_id), goes_on=invocation.taken_up)
    return await runner.run(program, call, reporter)


def key_of(session_id: str, call_id: str) -> str:
    return f"{session_id}/{call_id}"


def _signature(name: str, spec: ToolSpec) -> str:
    needed = json_schema.required(spec.input_schema)
    members: Mapping[str, Any] = json_schema.properties(spec.input_schema)
    ordered = sorted(members, key=lambda member: member not in needed)
    parameters = [_parameter(member, members[member], member in needed) for member in ordered]
    return f"{name}({', '.join(parameters)})  # {one_line(spec.description, _ABOUT)}"


def _parameter(name: str, schema: Any, needed: bool) -> str:
    kind = _TYPES.get(str(json_schema.as_schema(schema).get("type")), "Any")
    if not name.isidentifier() or keyword.iskeyword(name):
        return f"**{{{name!r}: {kind}}}"
    return f"{name}: {kind}" + ("" if needed else " = ...")
