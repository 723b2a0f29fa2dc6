"""Reads bytes as a terminal would, and knows of every sequence only whether Fanout means to write it.

Strict on purpose: a sequence that isn't in the list is a fault, and so is any control character, C1 included, and any
character that could reorder or hide text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from console_app.domain.safe_text import is_safe

_CSI = re.compile(r"\x1b\[([<=>?]?)([0-9;:]*)([ -/]*)([@-~])")
_STRING = re.compile(r"\x1b([\]PX^_])(.*?)(?:\x07|\x1b\\)", re.DOTALL)
_MODES = {7, 25, 1000, 1003, 1004, 1006, 1015, 1016, 1049, 2004, 2026, 2048}


@dataclass
class Reading:
    """The parts of a stream: plain text, faults with their places, and texts that went to the clipboard."""

    text: list[str] = field(default_factory=list[str])
    faults: list[str] = field(default_factory=list[str])
    clipboard: list[str] = field(default_factory=list[str])


def read(data: bytes | str, *, newlines: bool = False) -> Reading:
    """Reads a whole stream. With `newlines` CR LF is allowed: outside the alternate screen, as before and after it."""
    found = Reading()
    text = data.decode("utf-8") if isinstance(data, bytes) else data
    at = 0
    while at < len(text):
        if text[at] != "\x1b":
            end = text.find("\x1b", at)
            end = len(text) if end < 0 else end
            _plain(text[at:end], found, newlines)
            at = end
        elif match := _CSI.match(text, at):
            if not _known_csi(*match.groups()):
                found.faults.append(f"sequence {match[0]!r}")
            at = match.end()
        elif match := _STRING.match(text, at):
            if match[1] == "]" and match[2].startswith("52;c;"):
                found.clipboard.append(match[2][5:])
            elif match[1] == "P" and re.fullmatch(r'0;1;0q"1;1;[0-9]+;[0-9]+[#;0-9!?-~$-]*', match[2]):
                pass  # a picture
            elif not (match[1] == "]" and re.fullmatch(r"22;[a-z-]+|11;\?|2;fanout[^\x00-\x1f\x7f-\x9f]*", match[2])):
                found.faults.append(f"string {match[0][:60]!r}")
            at = match.end()
        else:
            found.faults.append(f"escape {text[at : at + 12]!r}")
            at += 1
    return found


def _plain(text: str, found: Reading, newlines: bool) -> None:
    found.text.append(text)
    if newlines:
        text = text.replace("\r\n", "")
    unsafe = [character for character in text if not is_safe(character) or character in "\n\t"]
    # A joiner or selector is safe inside an emoji alone, which only the text around it can tell.
    if [c for c in unsafe if c not in "\u200d\ufe0e\ufe0f"] or not is_safe(text):
        found.faults.append(f"characters {''.join(unsafe)[:20]!r} in {text[:60]!r}")


def _known_csi(private: str, parameters: str, between: str, final: str) -> bool:
    match (private, between, final):
        case ("", "", "m"):
            return re.fullmatch(r"[0-9;]*", parameters) is not None
        case ("", "", "H"):
            return re.fullmatch(r"[0-9]+;[0-9]+", parameters) is not None
        case ("?", "", "h" | "l"):
            return all(number.isdigit() and int(number) in _MODES for number in parameters.split(";"))
        case ("?", "$", "p"):
            return parameters in ("2026", "2048")
        case (">", "", "q"):
            return not parameters  # which terminal it is
        case ("?", "", "S"):
            return parameters == "1;1;0"  # how many colours a picture may have
        case (">", "", "u"):
            return parameters.isdigit()
        case ("<", "", "u"):
            return not parameters
        case ("", "", "c"):
            return parameters == "0"  # spelt so by the program alone: what kind of terminal, its last question
        case ("", "", "t"):
            return parameters in ("22;2", "23;2", "16")  # the window's title, kept and given back; the size of a cell
        case _:
            return False
