"""The lines of what waits for a yes, a call or a server's question: every face displays them, and a yes stands for
them. No value can look like a name, a mark or a line of ours. Invisible characters are made visible, and a long blank
stretch, which would push the rest out of sight, becomes one mark that counts it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from console_app.domain.safe_text import BLANKS, as_list, as_object, is_blank, is_safe, one_line, texts_in, visible
from console_app.records import dataclass, replace

if TYPE_CHECKING:
    from console_app.domain.questions import SamplingRequest  # pydantic, which the first paint has no use for

DEFINITION = "what it is"  # in the column of names, before a tool's difference
MOST_BLANK_LINES = 2  # that stand as they are
MOST_COMPARED = 4000  # lines that differ, beyond which all of them are said to be replaced
AROUND = 2  # lines shown before and behind a change
FOLD = "⋯"
_NOTHING = re.compile(rf"[^\S\n]|[{BLANKS}]|<U\+[0-9A-F]{{4,6}}>")  # a mark stands for what draws nothing, too
_LONG_BLANK = re.compile(rf"(?:{_NOTHING.pattern}){{41,}}")
_PATHS = ("path", "file_path", "filepath", "file", "filename", "file_name")
_WHOLE = ("content", "contents", "text", "file_text")
_WRITES = re.compile(r"(?:^|[^a-z])(?:over)?(?:write|create|save|replace)", re.IGNORECASE)
_ADDS = re.compile(r"append|insert|prepend|patch", re.IGNORECASE)
_PAIRS = (
    ("old_text", "new_text"),
    ("oldText", "newText"),
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old", "new"),
)
Mark = Literal[" ", "+", "-"]


@dataclass(frozen=True, slots=True)
class ArgumentLine:
    """A line: `name` is set on the first of a value. `+` is new, `-` is what was."""

    text: str
    name: str = ""
    mark: Mark = " "


def argument_lines(arguments: Mapping[str, Any], said: Collection[str] = ()) -> list[ArgumentLine]:
    lines: list[ArgumentLine] = []
    for name, value in arguments.items():
        if name not in said:
            lines += named_lines(one_line(str(name)) or '""', value)
    return lines or ([] if said else [ArgumentLine("(no arguments)")])


def named_lines(name: str, value: object) -> list[ArgumentLine]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    first, *others = map(ArgumentLine, fold_blanks(visible(text.replace("\r\n", "␍\n")).expandtabs(4)).split("\n"))
    return folded([replace(first, name=name), *others])


def sampling_lines(request: SamplingRequest) -> list[ArgumentLine]:
    lines = named_lines("system", request.system) if request.system else []
    return [*lines, *(line for one in request.messages for line in named_lines(one.role, one.text))]


def folded_text(text: str) -> str:
    return "\n".join(line.text for line in named_lines("", text))


def difference_lines(difference: str) -> list[ArgumentLine]:
    lines: list[ArgumentLine] = []
    for number, text in enumerate(fold_blanks(visible(difference).expandtabs(4)).splitlines()):
        mark, rest = text[:1], text[1:]
        if number < 2 and text.startswith(("---", "+++")):
            continue
        if text.startswith("@@"):
            if lines:
                lines.append(ArgumentLine(FOLD))
        elif mark == "+" or mark == "-":
            lines.append(ArgumentLine(rest, mark=mark))
        else:
            lines.append(ArgumentLine(rest if mark == " " else text))
    if lines:
        lines[0] = replace(lines[0], name=DEFINITION)
    return folded(lines)


def fold_blanks(text: str) -> str:
    """Mark more than forty signs side by side that draw nothing: a line going on behind them would end out of sight."""
    return _LONG_BLANK.sub(_counted, text)


def _counted(found: re.Match[str]) -> str:
    signs: list[str] = _NOTHING.findall(found[0])
    mark = signs[0] if signs[0].startswith("<") and len(set(signs)) == 1 else "␣"
    return f"{mark} x {len(signs)}"


def folded(lines: Iterable[ArgumentLine]) -> list[ArgumentLine]:
    """Runs of blank lines, but the shortest, as one line that counts them; each keeps the name of its first line."""
    kept: list[ArgumentLine] = []
    for (blank, _), run in groupby(lines, lambda line: (_is_blank(line), line.mark)):
        same = list(run)
        kept += [replace(same[0], text=f"⏎ x {len(same)}")] if blank and len(same) > MOST_BLANK_LINES else same
    return kept


def _is_blank(line: ArgumentLine) -> bool:
    return is_blank(line.text) or re.fullmatch(r"(?:␣|<U\+\w+>) x \d+", line.text) is not None


def as_text(lines: Iterable[ArgumentLine]) -> str:
    values: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.name or not values:
            values.append((line.name, []))
        values[-1][1].append(f"{line.mark.strip()}{line.text}")
    return "\n".join(
        f"  {name}: {texts[0]}" if name and len(texts) == 1 else "\n    ".join((f"  {name}:", *texts)) if name
        else "\n".join(f"  {text}" for text in texts)
        for name, texts in values
    )  # fmt: skip


def digest(lines: Sequence[ArgumentLine]) -> str:
    """The hash (SHA-256, hexadecimal) of the lines that were displayed, kept beside the decision."""
    import hashlib  # OpenSSL's, which the first paint has no use for

    return hashlib.sha256(json.dumps([(one.mark, one.name, one.text) for one in lines]).encode()).hexdigest()


def hidden_characters(arguments: Mapping[str, Any]) -> bool:
    """Tell whether a name or a text among the arguments holds characters that can't be seen, or turn others round."""
    return any(not is_safe(text) for text in texts_in(dict(arguments), names=True))


def diff_lines(old: list[str], new: list[str]) -> tuple[list[ArgumentLine], list[int]]:
    lines: list[ArgumentLine] = []
    hunks: list[int] = []
    shown = 0  # lines of the old text that were passed
    stretches = [one for one in _opcodes(old, new) if one[0] != "equal"]
    for place, (_, i1, i2, j1, j2) in enumerate(stretches):
        begin = max(i1 - AROUND, shown)
        if begin > shown or not lines:
            lines += [ArgumentLine(FOLD)] if lines else []
            hunks.append(len(lines))
        lines += [_line(n + 1, old[n]) for n in range(begin, i1)]
        lines += folded(_line(n + 1, old[n], "-") for n in range(i1, i2))
        lines += folded(_line(n + 1, new[n], "+") for n in range(j1, j2))
        after = stretches[place + 1][1] if place + 1 < len(stretches) else len(old)
        shown = min(i2 + AROUND, after)
        lines += [_line(n + 1, old[n]) for n in range(i2, shown)]
    return lines or [ArgumentLine("(the file holds this already)")], hunks


def _opcodes(old: list[str], new: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """Do what `SequenceMatcher.get_opcodes` does, without looking at what both begin and end with."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    one, other = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(one) > MOST_COMPARED or len(other) > MOST_COMPARED:
        yield "replace", head, head + len(one), head, head + len(other)
        return
    for what, i1, i2, j1, j2 in SequenceMatcher(None, one, other).get_opcodes():
        yield what, i1 + head, i2 + head, j1 + head, j2 + head


def _line(number: int, text: str, mark: str = " ") -> ArgumentLine:
    shown = visible(text.replace("\r", "␍") if text.endswith("\r") else text).replace("\n", " ").expandtabs(4)
    return ArgumentLine(fold_blanks(shown), str(number), "+" if mark == "+" else "-" if mark == "-" else " ")


def path_of(arguments: Mapping[str, Any]) -> str:
    return next((arguments[name] for name in _PATHS if isinstance(arguments.get(name), str) and arguments[name]), "")


def whole_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """The name of the argument that holds what a file becomes; "" where the tool's name doesn't say that it writes."""
    writes = _WRITES.search(tool) is not None and _ADDS.search(tool) is None
    return next((one for one in _WHOLE if isinstance(arguments.get(one), str)), "") if writes else ""


def edits_of(arguments: Mapping[str, Any]) -> tuple[list[tuple[str, str]], frozenset[str]]:
    if (pair := _pair(arguments)) is not None:
        return [(arguments[pair[0]], arguments[pair[1]])], frozenset(pair)
    found: list[tuple[str, str]] = []
    for edit in map(as_object, as_list(arguments.get("edits"))):
        if (pair := _pair(edit)) is None or set(edit) - set(pair):
            return [], frozenset()  # something of it would not be shown
        found.append((edit[pair[0]], edit[pair[1]]))
    return found, frozenset({"edits"} if found else ())


def _pair(edit: Mapping[str, Any]) -> tuple[str, str] | None:
    return next((pair for pair in _PAIRS if all(isinstance(edit.get(name), str) for name in pair)), None)
