"""The packages of requirements.lock, each with its version and what needs it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"
OURS = "fanout-console"
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)(?P<marker>\s*;[^\\]+)?")
_VIA = re.compile(r"^    #(?: via)?\s+(?P<parent>[A-Za-z0-9._-]+)(?P<group> \(pyproject\.toml:[\w-]+\))?")


@dataclass(frozen=True, slots=True)
class Pin:
    """A package. `parents` are the packages that need it; `only_sometimes`: not on every system or Python."""

    name: str
    version: str
    parents: frozenset[str]
    only_sometimes: bool


def names(requirements: list[Any]) -> list[str]:
    """The names of requirements as pyproject.toml has them; what includes another group is left out."""
    return [re.split(r"[<>=!~ \[;]", one)[0] for one in requirements if isinstance(one, str)]


def of_the_wheel() -> list[Pin]:
    """The packages that the wheel needs, without those that only building it does, by name."""
    text = LOCK.read_text(encoding="utf-8")
    direct = names(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"])
    pins: dict[str, tuple[str, set[str], bool]] = {}
    name = ""
    for line in text.splitlines():
        if pin := _PIN.match(line):
            name = pin["name"]
            # A marker with == says where it is needed; the others leave out where Fanout doesn't run.
            pins[name] = (pin["version"], {OURS} if name in direct else set(), "==" in (pin["marker"] or ""))
        elif (via := _VIA.match(line)) and via["group"] is None:
            pins[name][1].add(via["parent"])
    needed, more = {OURS}, True
    while more:
        new = {name for name, (_, parents, _) in pins.items() if name not in needed and parents & needed}
        needed |= new
        more = bool(new)
    return [
        Pin(name, version, frozenset(parents & needed), sometimes)
        for name, (version, parents, sometimes) in sorted(pins.items())
        if name in needed
    ]
