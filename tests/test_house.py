"""Every file of the code keeps to this: one class a name, one reader of schemas, work handed over before it is made."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

CODE = Path(__file__).parents[1] / "console_app"
FILES = sorted(CODE.rglob("*.py"))


@pytest.fixture(scope="module")
def nodes() -> dict[Path, list[ast.AST]]:
    """Every file of the code, parsed; its module comes first."""
    return {path: _walked(ast.parse(path.read_text())) for path in FILES}


def _walked(module: ast.AST) -> list[ast.AST]:
    """Return what `ast.walk` gives, in half of its time."""
    found = [module]
    for node in found:
        for value in vars(node).values():
            found += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, ast.AST)]
    return found


def test_work_is_handed_over_before_it_is_made(nodes: dict[Path, list[ast.AST]]) -> None:
    """A worker that is cancelled before it begins leaves a coroutine behind that nobody ever awaits."""
    made = [
        f"{path.relative_to(CODE)}:{node.lineno}"
        for path, within in nodes.items()
        for node in within
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"run_worker", "open_beside"}
        and isinstance(node.args[0], ast.Call)
        and ast.unparse(node.args[0].func) != "partial"
    ]
    assert made == []


def test_a_task_is_made_of_no_work_that_another_made(nodes: dict[Path, list[ast.AST]]) -> None:
    """A task that is cancelled before it begins throws away its arguments, and a coroutine among them with it."""
    coroutines = {
        path: {
            node.name
            for node in within
            if isinstance(node, ast.AsyncFunctionDef) and not any(isinstance(one, ast.Yield) for one in ast.walk(node))
        }
        for path, within in nodes.items()
    }
    known = set[str]().union(*coroutines.values())

    def made(given: ast.expr, path: Path) -> bool:
        name = getattr(given.func, "attr", getattr(given.func, "id", "")) if isinstance(given, ast.Call) else ""
        return name in (coroutines[path] if name.startswith("_") else known)

    wrapped = [
        f"{path.relative_to(CODE)}:{node.lineno}"
        for path, within in nodes.items()
        for node in within
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") in {"create_task", "ensure_future", "spawn", "_spawn"}
        and isinstance(work := node.args[0], ast.Call)
        and any(made(given, path) for given in (*work.args, *(one.value for one in work.keywords)))
    ]
    assert wrapped == []


def test_no_two_floors_have_a_class_of_the_same_name(nodes: dict[Path, list[ast.AST]]) -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path, within in nodes.items():
        module = within[0]
        assert isinstance(module, ast.Module)
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(CODE)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_the_words_of_json_schema_are_read_in_one_place(nodes: dict[Path, list[ast.AST]]) -> None:
    """Who writes a schema for an endpoint writes its words; who asks a schema something asks `domain/schema`.

    The bundled servers know nothing of the console, and read what they are sent.
    """
    words = {"properties", "required", "additionalProperties", "anyOf", "oneOf", "allOf", "enum", "$ref", "$defs"}
    read = set[str]()
    for path, within in nodes.items():
        for node in within:
            asked: ast.expr | None = None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"get", "pop"}:
                asked = node.args[0] if node.args else None
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                asked = node.slice
            if isinstance(asked, ast.Constant) and asked.value in words:
                read.add(str(path.relative_to(CODE).parent))
    assert read == {"domain/schema", "servers", "servers/parts"}


# A base of any app, which has tests of its own; the part of a call's panel that the lines around it know; and what sets
# a method of Textual's own.
BASES_OF_ONE = {"KeysInOrder", "Panel", "TimedScreen"}


def test_no_class_is_cut_by_inheritance(nodes: dict[Path, list[ast.AST]]) -> None:
    """A class that only one other inherits from, and that nobody makes, is a part of that one in another file."""
    heirs, made, concrete = defaultdict[str, set[str]](set), set[str](), set[str]()
    for within in nodes.values():
        for node in within:
            if isinstance(node, ast.ClassDef):
                bases = [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases]
                concrete |= set() if "Protocol" in bases else {node.name}
                for base in bases:
                    heirs[base].add(node.name)
            elif isinstance(node, ast.Call):
                made.add(ast.unparse(node.func).partition("[")[0].rpartition(".")[2])
    assert {base for base in heirs.keys() & concrete - made if len(heirs[base]) == 1} == BASES_OF_ONE


MOST_NAMES = 25  # of a door
MOST_OF_CONSOLE = 30
MOST_CROSSING = 322
MOST_CROSSING_IN_TUI = 393  # where a room of tui/ counts as a room of its own


def _names_of_doors(nodes: dict[Path, list[ast.AST]]) -> dict[str, list[str]]:
    """The names that each door offers, by its package."""
    return {
        str(path.parent.relative_to(CODE)): [
            alias.name
            for node in within
            if isinstance(node, ast.ImportFrom) and node.module != "console_app.door"
            for alias in node.names
            if alias.asname == alias.name
        ]
        for path, within in nodes.items()
        if path.name == "__init__.py"
    }


def test_a_door_offers_few_names(nodes: dict[Path, list[ast.AST]]) -> None:
    wide = {
        package: len(names)
        for package, names in _names_of_doors(nodes).items()
        if len(names) > (MOST_OF_CONSOLE if package == "console" else MOST_NAMES)
    }
    assert wide == {}


def test_the_map_tells_how_deep_the_deepest_rooms_are(nodes: dict[Path, list[ast.AST]]) -> None:
    told = re.search(
        r"deepest rooms[^:]*:(.*?)\. `tests", (CODE.parent / "docs/architecture.md").read_text(), re.DOTALL
    )
    assert told is not None
    names = _names_of_doors(nodes)
    for room, lines in re.findall(r"`([\w/]+)/` (\d+)", told[1]):
        depth = sum(len(path.read_text().splitlines()) for path in (CODE / room).rglob("*.py")) / len(names[room])
        assert abs(depth - int(lines)) <= depth / 10, f"{room}: {depth:.0f}"


def test_a_door_offers_no_name_that_one_of_its_modules_has(nodes: dict[Path, list[ast.AST]]) -> None:
    """Once that module is imported it stands in the package in the name's place."""
    hidden = [
        f"{package}: {name}"
        for package, names in _names_of_doors(nodes).items()
        for name in names
        if (CODE / package / name).with_suffix(".py").exists() or (CODE / package / name).is_dir()
    ]
    assert hidden == []


def test_few_names_cross_from_room_to_room(nodes: dict[Path, list[ast.AST]]) -> None:
    """A name counts once for the module that it is imported from, type-only imports too."""
    modules = {
        ".".join(("console_app", *path.relative_to(CODE).with_suffix("").parts)).removesuffix(".__init__")
        for path in nodes
    }

    def room(module: str) -> str:
        return module.split(".")[1] if module.count(".") > 1 or (CODE / module.split(".")[-1]).is_dir() else ""

    def room_of_tui(module: str) -> str:
        _, _, inner = module.partition("console_app.tui.")
        first = inner.split(".")[0]
        return first if (CODE / "tui" / first / "__init__.py").is_file() and first else ""

    crossing, in_tui = set[tuple[str, str]](), set[tuple[str, str]]()
    for path, within in nodes.items():
        here = ".".join(("console_app", *path.relative_to(CODE).with_suffix("").parts)).removesuffix(".__init__")
        for node in within:
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("console_app"):
                continue
            if node.module == "console_app.records":  # names of the standard library
                continue
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                module = whole if whole in modules else str(node.module)
                if room(module) != room(here):
                    crossing.add((module, alias.name))
                elif room_of_tui(module) != room_of_tui(here):
                    in_tui.add((module, alias.name))
    assert len(crossing) < MOST_CROSSING
    assert len(crossing | in_tui) < MOST_CROSSING_IN_TUI


def test_one_place_starts_programs_on_the_event_loop(nodes: dict[Path, list[ast.AST]]) -> None:
    """A task that is cancelled meanwhile could wait for ever. Bundled servers and the transport import none of us."""
    starts = {"create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"}
    places = {
        str(path.relative_to(CODE))
        for path, within in nodes.items()
        if any(isinstance(node, ast.Attribute) and node.attr in starts for node in within)
    }
    assert places == {"config/machine/child_programs.py", "mcp_client/transport/process.py", "servers/files.py"}


MOST_FILES = 16  # of a folder, its door aside
WIDE = {"domain": 21, "commands": 23}  # nouns that are named with their module; one file a command


ONE_THREAD = {
    "acp": "only the event loop imports it",
    "mcp": "connecting/sdk.py imports all of it, one thread at a time",
    "opentelemetry": "no package of its own, only a name for several",
}


IMPORTS_LATE = re.compile(r"^[ \t]+(?:import|from) ", re.MULTILINE)


def test_a_package_is_imported_before_its_parts(nodes: dict[Path, list[ast.AST]]) -> None:
    """A thread that imports the package waits for its parts: another that has a part and waits for the package is a
    deadlock, which Python ends by failing one of the two."""
    at_once: list[str] = []
    for path, within in nodes.items():
        late = IMPORTS_LATE.search(path.read_text()) is not None
        for function in (node for node in within if late and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            known = {*sys.stdlib_module_names, "console_app", *ONE_THREAD}
            for node in ast.walk(function):
                names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
                for name in [node.module or ""] if isinstance(node, ast.ImportFrom) else names:
                    package = name.partition(".")[0]
                    if package != name and package not in known and imports_its_parts(package):
                        at_once.append(f"{path.relative_to(CODE)}:{node.lineno} {name}")
                    known.add(package)
    assert at_once == []


def imports_its_parts(package: str) -> bool:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        return False
    imports = [one for one in ast.parse(Path(found.origin).read_text()).body if isinstance(one, ast.ImportFrom)]
    return any(one.level or (one.module or "").startswith(f"{package}.") for one in imports)


def test_a_folder_holds_few_files() -> None:
    files = Counter(str(path.parent.relative_to(CODE)) for path in FILES if path.name != "__init__.py")
    assert {folder: count for folder, count in files.items() if count > WIDE.get(folder, MOST_FILES)} == {}
