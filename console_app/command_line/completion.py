"""Completes in bash, zsh and fish: a short script a shell, which asks `fanout __complete` for what fits.

The script never changes with the commands. An answer is a line a candidate, `VALUE<TAB>ABOUT`; the line `:file` or
`:folder` asks the shell for its own. Names are read from files as they lie there, without settings, SDKs or servers;
what can't be read completes to nothing. Names are foreign: one that a shell or terminal could take amiss is left out.
"""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, cast

from console_app.command_line.commands import COMMANDS, CONSOLE, CommandSpec, Words
from console_app.command_line.flags import Flag
from console_app.command_line.parser import find_word
from console_app.config.files import Paths, disk
from console_app.domain import one_line, safe_text
from console_app.sessions import Recent

Candidate = tuple[str, str]
"""A value that is completed to, and a word about it."""
PROVIDERS = ("openai", "openai-responses", "anthropic", "ollama")
_MOST = 200


def names(kind: str, mcp_config: str = "") -> list[Candidate]:
    """Return the candidates of a kind (`flags.Completes`). `mcp_config` is the file that --mcp-config names."""
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
                yield from Recent(db, _MOST).sessions()
        case "server":
            yield from _servers(paths, mcp_config)
        case "tool":
            for server, tools in _table(paths.known_tools, "JSON").items():
                yield from ((f"{server}.{tool}", "") for tool in cast("list[Any]", tools))
        case "model":
            yield from _models(paths)
        case "theme":
            for folder in paths.theme_dirs:
                for path in sorted(folder.glob("*.toml")):
                    yield path.stem, str(_table(path, "TOML").get("about", ""))
        case "setting":
            from console_app.config.settings import MEANINGS  # with pydantic, 0.15 s

            yield from MEANINGS.items()
        case "output":
            from console_app.command_line import json_outputs  # with pydantic, 0.2 s

            yield from ((name, printed.by) for name, printed in json_outputs.OUTPUTS.items())
        case _:
            return


def _models(paths: Paths) -> Iterator[Candidate]:
    seen = {"offline/rehearsal": "no key, no network"}
    settings = _table(paths.settings, "TOML")
    if isinstance(chosen := settings.get("model"), str):
        seen[chosen] = "of the settings"
    if paths.sessions.exists():
        with closing(_opened(paths.sessions)) as db:
            for name in Recent(db, _MOST).models():
                seen.setdefault(name, "used before")
    seen |= {f"{name}/": "a provider" for name in (*PROVIDERS, *safe_text.as_object(settings.get("providers")))}
    yield from seen.items()


def _servers(paths: Paths, mcp_config: str) -> Iterator[Candidate]:
    places = (paths.mcp, Paths.bundled("mcp.json"))
    files = [Path(mcp_config).expanduser()] if mcp_config else [*Paths.project_mcp(Path.cwd()), *places]
    table = next((_table(file, "JSON") for file in files if os.path.exists(file)), dict[str, Any]())
    servers: Any = table.get("mcpServers", table.get("servers", table))
    for name, fields in safe_text.as_object(servers).items():
        yield name, str(safe_text.as_object(fields).get("description", ""))


def _table(path: Path, form: str) -> dict[str, Any]:
    if not path.exists():
        return {}
    text = disk.contents(path).decode("utf-8-sig")
    return safe_text.as_object(json.loads(text) if form == "JSON" else tomllib.loads(text))


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0.2)


def _plain(name: str) -> bool:
    return name.isprintable() and one_line(name, 200) == name and not set(name) & set("\"'`$\\;&|<>()!*? \t\n")


SCRIPTS = {
    "bash": r"""# fanout completion bash
_fanout() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :file) compopt -o default 2>/dev/null ;;
            :folder) compopt -o dirnames 2>/dev/null ;;
            *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete bash "$COMP_LINE" "$COMP_POINT" "$COMP_WORDBREAKS" 2>/dev/null)
    case ${COMPREPLY[0]-} in */ | *=) compopt -o nospace 2>/dev/null ;; esac
}
complete -F _fanout fanout
""",
    "zsh": r"""#compdef fanout
_fanout() {
    local line
    local -a found
    local -i failed=1
    for line in "${(@f)$("${(Q)words[1]/#\~/$HOME}" __complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        case $line in
            '') ;;
            :file) _files && failed=0 ;;
            :folder) _files -/ && failed=0 ;;
            *) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    (( $#found )) && _describe -V fanout found && failed=0
    return failed
}
if [ "$funcstack[1]" = _fanout ]; then
    _fanout "$@"
else
    compdef _fanout fanout
fi
""",
    "fish": r"""# fanout completion fish
function __fanout_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (command $words[1] __complete fish $words[2..] 2>/dev/null)
        switch $line
            case :file
                __fish_complete_path (commandline -ct)
            case :folder
                __fish_complete_directories (commandline -ct)
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c fanout -f -k -a '(__fanout_complete)'
""",
}


def answer(arguments: Sequence[str]) -> str:
    """Return what `fanout __complete SHELL ...` prints; it gets `bash LINE POINT BREAKS`, or a shell and words."""
    shell, *rest = arguments or ("",)
    kept, words = "", rest or [""]
    if shell == "bash" and len(rest) == 3 and rest[1].isdecimal():
        line, point, breaks = rest
        words = _split(line[: int(point)])[1:] or [""]
        # bash keeps of a word by itself what stands up to the last of its own word breaks
        kept = words[-1][: max(words[-1].rfind(sign) for sign in set("=:") & set(breaks) or "=") + 1]
    return "".join(
        value + "\n" if value.startswith(":") else f"{value.removeprefix(kept)}\t{about}\n"
        for value, about in candidates(words)
    )


def candidates(words: Sequence[str]) -> Iterator[Candidate]:
    """Yield what the last of `words` can become; those before it are complete."""
    *before, current = words
    command, action, typed = _command_of(before)
    shown = action or command
    flags = list((shown if shown.flags or not command.actions else command).flags)
    if "--" not in before:
        flag = _named(before[-1], flags) if before else None
        if flag is not None and flag.takes_value:
            yield from _values(flag, before, current, "")
            return
        name, equals, value = current.partition("=")
        if equals and (flag := _named(name, flags)) is not None:
            yield from _values(flag, before, value, f"{name}=")
            return
        if current.startswith("-"):
            yield from _starting(current, ((name, flag.help) for flag in flags for name in flag.names))
            yield from _starting(current, [("--help", "what there is to type")])
            return
        if command is CONSOLE:
            yield from _starting(current, ((one.name, one.about) for one in COMMANDS.values()))
            return
        if command.actions and action is None:
            yield from _starting(current, ((one.name, one.about) for one in command.actions))
            return
    if shown.words is not None and (shown.words.most is None or typed < shown.words.most):
        yield from _values(shown.words, before, current, "")


def _values(takes: Flag | Words, before: Sequence[str], current: str, prefix: str) -> Iterator[Candidate]:
    yield from _starting(prefix + current, ((prefix + choice, "") for choice in takes.choices))
    if (kind := takes.completes) in ("file", "folder"):
        yield f":{kind}", ""
    elif kind == "command":
        yield from _starting(current, ((one.name, one.about) for one in COMMANDS.values()))
    elif kind:
        config = next((after for word, after in pairwise(before) if word == "--mcp-config"), "")
        yield from _starting(prefix + current, ((prefix + name, about) for name, about in names(kind, config)))


def _command_of(before: Sequence[str]) -> tuple[CommandSpec, CommandSpec | None, int]:
    """Return the command and action among complete words, and the number of words of its own."""
    found = find_word(before, CONSOLE.flags)
    if found is not None and found[0] == "help":
        found = find_word(found[1], ())
    if found is None or found[0] not in COMMANDS:
        return CONSOLE, None, 0
    command, rest, action = COMMANDS[found[0]], found[1], None
    if command.actions and (found := find_word(rest, command.all_flags())) is not None:
        action, rest = command.action(found[0]), found[1]
    typed = 0
    while (found := find_word(rest, (action or command).flags)) is not None:
        typed, rest = typed + 1, found[1]
    return command, action, typed


def _named(name: str, flags: Iterable[Flag]) -> Flag | None:
    return next((flag for flag in flags if name in flag.names), None)


def _starting(current: str, found: Iterable[Candidate]) -> Iterator[Candidate]:
    yield from ((value, about) for value, about in found if value.startswith(current))


def _split(line: str) -> list[str]:
    """Return the words of a line up to the cursor, as the shell has them; the last one is "" behind a space."""
    for quote in ("", "'", '"'):
        try:
            words = shlex.split(line + quote)
        except ValueError:
            continue
        return [*words, ""] if not quote and line[-1:].isspace() else words
    return line.split(" ")
