"""The drawing of the floors on the map is the contract that the linter holds."""

from __future__ import annotations

import re
import tomllib

from tests.docs.markdown import ROOT, blocks


def test_the_floors_of_the_map_are_those_of_the_contract() -> None:
    drawn = next(block.text for block in blocks() if block.page.name == "architecture.md" and "cli -> " in block.text)
    shown: list[set[str]] = []
    for line in drawn.splitlines():
        rooms = re.match(r" *\d? *(.*?)(?:   |$)", line)
        assert rooms is not None
        shown += [set(re.findall(r"\w+", floor)) for floor in rooms[1].split("->")]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    floors = next(one["layers"] for one in settings["importlinter"]["contracts"] if one["name"].startswith("Floors: "))
    assert shown == [set(re.findall(r"\w+", floor)) for floor in floors if floor != "__main__"]
