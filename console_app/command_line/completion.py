"""Completion in bash, zsh and fish: a short script a shell, which asks `fanout __complete` for what fits.

The script never changes with the commands. An answer is a line a candidate, `VALUE<TAB>ABOUT`; the line `:file` or
`:folder` asks the shell for its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from console_app.command_line.commands import COMMANDS, CONSOLE, CommandSpec, Words
from console_app.command_line.flags import Flag
from console_app.command_line.names import Candidate, names
from console_app.command_line.parser import find_word

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
    """What `fanout __complete SHELL ...` prints: `bash LINE POINT BREAKS`, or a shell and the words so far."""
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
    """What the last of `words` can become; those before it are complete."""
    *before, current = words
    command, action, typed = _command_of(before)
    shown = action or command
    flags = list((shown if shown.flags or not command.actions else command).flags)
    if "--" not in before:
        if (flag := _open_flag(before, flags)) is not None:
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
    if shown.words is not None:
        yield from _words(shown.words, typed, before, current)


def _words(takes: Words, typed: int, before: Sequence[str], current: str) -> Iterator[Candidate]:
    if takes.most is not None and typed >= takes.most:
        return
    if takes.choices:
        yield from _starting(current, ((choice, "") for choice in takes.choices))
    yield from _kind(takes.completes, before, current, "")


def _values(flag: Flag, before: Sequence[str], current: str, prefix: str) -> Iterator[Candidate]:
    yield from _starting(prefix + current, ((prefix + choice, "") for choice in flag.choices))
    yield from _kind(flag.completes, before, current, prefix)


def _kind(kind: str, before: Sequence[str], current: str, prefix: str) -> Iterator[Candidate]:
    if kind in ("file", "folder"):
        yield f":{kind}", ""
    elif kind == "command":
        yield from _starting(current, ((one.name, one.about) for one in COMMANDS.values()))
    elif kind:
        config = next((after for word, after in pairwise(before) if word == "--mcp-config"), "")
        yield from _starting(prefix + current, ((prefix + name, about) for name, about in names(kind, config)))


def _command_of(before: Sequence[str]) -> tuple[CommandSpec, CommandSpec | None, int]:
    """The command and action among complete words, and how many words of its own there are."""
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


def _open_flag(before: Sequence[str], flags: Iterable[Flag]) -> Flag | None:
    """The option whose value comes next."""
    flag = _named(before[-1], flags) if before else None
    return flag if flag is not None and flag.takes_value else None


def _named(name: str, flags: Iterable[Flag]) -> Flag | None:
    return next((flag for flag in flags if name in flag.names), None)


def _starting(current: str, found: Iterable[Candidate]) -> Iterator[Candidate]:
    yield from ((value, about) for value, about in found if value.startswith(current))


def _split(line: str) -> list[str]:
    """The words of a line up to the cursor, as the shell has them; the last one is "" behind a space."""
    for closing in ("", "'", '"'):
        try:
            words = shlex.split(line + closing)
        except ValueError:
            continue
        return [*words, ""] if not closing and line[-1:].isspace() else words
    return line.split(" ")
