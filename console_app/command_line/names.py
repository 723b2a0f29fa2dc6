"""The names that a shell completes: read from files as they lie there, without settings, SDKs or servers.

What can't be read completes to nothing. Names are foreign: one that a shell or terminal could take amiss is left out.
"""

from __future__ import annotations

import json
import sqlite3
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, cast

from console_app import resources
from console_app.config.files import Paths, contents, project_mcp
from console_app.domain.safe_text import one_line
from console_app.sessions import recent_models, recent_sessions

Candidate = tuple[str, str]
"""What is completed to, and a word about it."""
PROVIDERS = ("openai", "openai-responses", "anthropic", "ollama")
_MOST = 200


def names(kind: str, mcp_config: str = "") -> list[Candidate]:
    """The candidates of a kind (`flags.Completes`). `mcp_config` is the file that --mcp-config names."""
    found: Iterable[Candidate] = ()
    try:
        found = list(islice(_of(kind, Paths.find(), mcp_config), _MOST))
    except (OSError, ValueError, RecursionError, sqlite3.Error):
        pass  # a file that is broken is for `fanout doctor` to tell of, not for a key press
    return [(name, one_line(about, 60)) for name, about in found if _plain(name)]


def _of(kind: str, paths: Paths, mcp_config: str) -> Iterator[Candidate]:
    match kind:
        case "session":
            with closing(_opened(paths.sessions)) as db:
                yield from recent_sessions(db, _MOST)
        case "server":
            yield from _servers(paths, mcp_config)
        case "tool":
            for server, tools in _table(paths.known_tools, "JSON").items():
                yield from ((f"{server}.{tool}", "") for tool in cast("list[Any]", tools))
        case "model":
            yield from _models(paths)
        case "theme":
            for folder in (resources.themes_dir(), paths.themes):
                for path in sorted(folder.glob("*.toml")):
                    yield path.stem, str(_table(path, "TOML").get("about", ""))
        case "setting":
            from console_app.config.settings import MEANINGS  # with pydantic, 0.15 s

            yield from MEANINGS.items()
        case "output":
            from console_app.headless.json_outputs import OUTPUTS  # with pydantic, 0.2 s

            yield from ((name, printed.by) for name, printed in OUTPUTS.items())
        case _:
            return


def _models(paths: Paths) -> Iterator[Candidate]:
    seen = {"offline/rehearsal": "no key, no network"}
    settings = _table(paths.settings, "TOML")
    if isinstance(chosen := settings.get("model"), str):
        seen[chosen] = "of the settings"
    if paths.sessions.exists():
        with closing(_opened(paths.sessions)) as db:
            for name in recent_models(db, _MOST):
                seen.setdefault(name, "used before")
    seen |= {f"{name}/": "a provider" for name in (*PROVIDERS, *_object(settings.get("providers")))}
    yield from seen.items()


def _servers(paths: Paths, mcp_config: str) -> Iterator[Candidate]:
    places = (paths.mcp, resources.bundled_mcp())
    files = [Path(mcp_config).expanduser()] if mcp_config else [project_mcp(Path.cwd()), *places]
    table = next((_table(file, "JSON") for file in files if file.exists()), dict[str, Any]())
    servers: Any = table.get("mcpServers", table.get("servers", table))
    for name, fields in _object(servers).items():
        yield name, str(_object(fields).get("description", ""))


def _table(path: Path, form: str) -> dict[str, Any]:
    if not path.exists():
        return {}
    text = contents(path).decode("utf-8-sig")
    return _object(json.loads(text) if form == "JSON" else tomllib.loads(text))


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0.2)


def _plain(name: str) -> bool:
    return name.isprintable() and one_line(name, 200) == name and not set(name) & set("\"'`$\\;&|<>()!*? \t\n")
