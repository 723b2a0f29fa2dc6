"""Each internal of a library that the console leans on is listed, is there, and is of a version that was tried.

A failure here after an upgrade names what moved. Look at the place it gives, and at the same thing in the new version;
mend both, the row in the `*_internals.py`, and then the bound in pyproject.toml.
"""

from __future__ import annotations

import ast
import dis
import functools
import importlib
import inspect
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

import console_app
from tests.each import each
from tests.program import mcp_internals, pptx_internals, rich_internals, textual_internals

ROOT = Path(__file__).parents[2]
MODULES = {
    "textual": textual_internals,
    "rich": rich_internals,
    "mcp": mcp_internals,
    "pptx": pptx_internals,
}
INTERNALS = {row: why for module in MODULES.values() for row, why in module.INTERNALS.items()}
NOT_BEYOND_A_MINOR = ("python-pptx", "textual")
NOT_BEYOND_A_MAJOR = ("anthropic", "mcp", "openai")  # both ends are tried, so that no environment is downgraded
ROW = re.compile(r"(?P<wait>async )?(?P<module>[\w.]+):(?P<owner>\w+)(\.(?P<name>\w+))?(\((?P<parameters>.*)\))?")
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_EXTRAS = [lines for extra, lines in _PROJECT["optional-dependencies"].items() if extra != "all"]
DEPENDENCIES = [Requirement(line) for lines in (_PROJECT["dependencies"], *_EXTRAS) for line in lines]
PINS = dict(re.findall(r"^([\w-]+)==([\w.]+)", (ROOT / "requirements-dev.lock").read_text(), re.MULTILINE))


@functools.cache
def given_in_init(owner: type) -> set[str]:
    """The attributes that instances get in `__init__`."""
    makers = [vars(kind)["__init__"] for kind in owner.__mro__ if inspect.isfunction(vars(kind).get("__init__"))]
    steps = (step for maker in makers for step in dis.get_instructions(maker))
    return {step.argval for step in steps if step.opname == "STORE_ATTR"}


def wrong(row: str) -> str:
    """Return the part of a row that doesn't hold, or nothing."""
    parts = ROW.fullmatch(row)
    assert parts is not None, f"not in the form of a row: {row}"
    try:
        owner: Any = getattr(importlib.import_module(parts["module"]), parts["owner"])
    except (ImportError, AttributeError) as error:
        return str(error)
    name: str | None = parts["name"]
    if name is not None and not hasattr(owner, name):
        return "" if name in given_in_init(owner) else f"{parts['owner']} has no {name}"
    if parts["parameters"] is None:
        return ""
    found = owner if name is None else getattr(owner, name)
    parameters = [one for one in inspect.signature(found).parameters if one != "self"]
    if parameters != [one for one in parts["parameters"].split(", ") if one]:
        return f"its parameters are ({', '.join(parameters)})"
    if inspect.iscoroutinefunction(found) != bool(parts["wait"]):
        return "it is no coroutine" if parts["wait"] else "it is a coroutine"
    return ""


@each("row", INTERNALS)
def test_an_internal_is_as_it_was_read(row: str) -> None:
    problem = wrong(row)
    assert not problem, f"{row}: {problem}. It is used here: {INTERNALS[row]}"


@each(
    ("row", "problem"),
    [
        ("textual._moved:App", "No module named 'textual._moved'"),
        ("textual.app:Moved._keymap", "no attribute 'Moved'"),
        ("textual.app:App._moved", "App has no _moved"),
        ("textual.app:App._handle_exception(error, more)", "its parameters are (error)"),
        ("async textual.app:App._handle_exception(error)", "it is no coroutine"),
        ("textual.screen:Screen._on_resize(event)", "it is a coroutine"),
    ],
)
def test_what_moved_is_told(row: str, problem: str) -> None:
    assert problem in wrong(row)


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(console_app.__path__, "console_app."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


@functools.cache
def parsed(path: str) -> dict[str, ast.ClassDef]:
    """The classes of a file, by their qualified names."""
    found: dict[str, ast.ClassDef] = {}

    def look(within: ast.AST, before: str) -> None:
        for node in ast.iter_child_nodes(within):
            if isinstance(node, ast.ClassDef):
                found[before + node.name] = node
                look(node, f"{before}{node.name}.")

    look(ast.parse(Path(path).read_text()), "")
    return found


@functools.cache
def private_names(kind: type) -> set[str]:
    """The private names that a class defines, or reads of itself."""
    body = parsed(inspect.getfile(kind))[kind.__qualname__]
    names = {one.name for one in body.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    for node in ast.walk(body):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("self", "super()"):
            names.add(node.attr)
    return {name for name in names if name.startswith("_") and not name.endswith("__")}


def place(kind: type) -> str:
    """The name by which a row names where a class uses something: its file, or of the modules of internals itself."""
    module = kind.__module__.rpartition(".")[2]
    return kind.__name__ if module.endswith("_internals") else f"{module}.py"


def test_a_private_name_of_a_library_is_listed_with_each_place_that_uses_it() -> None:
    """Also one that a class of ours took without knowing that its base has it: give ours another name."""
    listed = {row.partition("(")[0].rpartition(".")[2]: why for row, why in INTERNALS.items()}
    unlisted = {
        f"{kind.__module__}.{kind.__name__}.{name}, of {base.__name__}"
        for module in modules()
        for kind in vars(module).values()
        if inspect.isclass(kind) and kind.__module__ == module.__name__
        for base in kind.__mro__
        if base.__module__.partition(".")[0] in MODULES
        for name in private_names(kind) & (set(vars(base)) | given_in_init(base))
        if place(kind) not in listed.get(name, "")
    }
    assert not unlisted


def test_only_the_modules_of_internals_import_private_modules() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {node.module}"
        for path in (ROOT / "console_app").rglob("*.py")
        if not path.name.endswith("_internals.py") and re.search(r"from \S*\b_", code := path.read_text())
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith("console_app")
        if any(part.startswith("_") and not part.startswith("__") for part in node.module.split("."))
    }
    assert not found


@each("name", MODULES)
def test_the_module_says_in_which_version_it_was_read(name: str) -> None:
    pinned = PINS["python-pptx" if name == "pptx" else name]
    assert f"read in {pinned}." in (MODULES[name].__doc__ or ""), f"{name} is pinned at {pinned}: read it again"


@each("dependency", DEPENDENCIES, ids=lambda one: one.name)
def test_the_installed_version_lies_within_the_bounds(dependency: Requirement) -> None:
    assert dependency.specifier.contains(version(dependency.name), prereleases=True)
    assert dependency.specifier.contains(PINS[dependency.name], prereleases=True)


@each("name", [*NOT_BEYOND_A_MINOR, *NOT_BEYOND_A_MAJOR])
def test_an_installation_meets_no_version_that_was_never_tried(name: str) -> None:
    (bounds,) = [dependency.specifier for dependency in DEPENDENCIES if dependency.name == name]
    pinned = Version(PINS[name])
    minor = f"{pinned.major}.{pinned.minor + 1}.0"
    following = minor if name in NOT_BEYOND_A_MINOR else f"{pinned.major + 1}.0.0"
    assert bounds.contains(minor) is (name in NOT_BEYOND_A_MAJOR)
    assert not bounds.contains(following), f"{name} {following} could be installed; {pinned} is what was tried"
