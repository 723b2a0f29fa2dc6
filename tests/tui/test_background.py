"""Light or dark, as the terminal says: in pieces, beside keys, and from the environment."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.tui.app import FanoutApp
from console_app.tui.main_screen.screen import ChatScreen
from console_app.tui.main_screen.start.first_paint import StartupParts
from console_app.tui.terminal.answers import last_answer
from console_app.tui.terminal.questions import BackgroundAnswer, is_light_by_environment
from tests.tui.parts import THEMES, services, until

LIGHT = "\x1b]11;rgb:fafa/f4f4/eded\x1b\\"
DARK = "\x1b]11;rgb:1a/1b/26\x07"


@pytest.mark.parametrize(
    ("answer", "light"),
    [
        (LIGHT, True),
        (DARK, False),
        ("\x1b]11;rgba:f/f/f/f\x07", True),
        ("\x1b]11;#fafafa\x07", True),
        ("\x1b]11;#101010\x1b\\", False),
        ("\x1b]11;none of yours\x07", None),
        ("\x1b]11;\x07", None),
    ],
)
@given(data=st.data())
def test_the_answer_is_found_wherever_it_is_cut_and_keys_stay_keys(
    answer: str, light: bool | None, data: st.DataObject
) -> None:
    keys = st.text("abc[1;A", max_size=6)
    before, behind = data.draw(keys), data.draw(keys)
    whole = before + answer + behind
    # A cut right behind the first Escape is left out: that is the key, and no key waits for what may follow.
    places = st.integers(1, len(whole) - 1).filter(lambda at: at != len(before) + 1)
    cuts = [0, *sorted(data.draw(st.sets(places))), len(whole)]
    reader = BackgroundAnswer()
    typed = "".join(reader.without(whole[cut:end]) for cut, end in pairwise(cuts))
    assert reader.is_light is light
    assert typed == before + behind


@given(st.lists(st.text("ab\x1b]1;:rg/f\x07\\", max_size=5), max_size=6))
def test_what_is_no_answer_is_passed_on_whole(pieces: list[str]) -> None:
    reader = BackgroundAnswer()
    typed = "".join(reader.without(piece) for piece in pieces)
    typed += "".join(reader.tick() for _ in range(9))
    assert "\x1b]11;" in "".join(pieces) or typed == "".join(pieces)


@given(st.lists(st.text("ab\x1b[?1;c", max_size=5), max_size=6))
def test_nor_is_anything_lost_that_looks_like_the_last_answer(pieces: list[str]) -> None:
    reader = last_answer()
    typed = "".join(reader.without(piece) for piece in pieces)
    typed += "".join(reader.tick() for _ in range(9))
    assert reader.found is not None or typed == "".join(pieces)


def test_the_last_answer_is_taken_wherever_it_is_cut() -> None:
    whole = "ab\x1b[?62;22cde"
    for cut in (one for one in range(1, len(whole)) if one != 3):
        reader = last_answer()
        assert reader.without(whole[:cut]) + reader.without(whole[cut:]) == "abde"


def test_the_environment_says_it_as_rxvt_does() -> None:
    assert is_light_by_environment({"COLORFGBG": "0;15"})
    assert is_light_by_environment({"COLORFGBG": "0;default;7"})
    assert not is_light_by_environment({"COLORFGBG": "15;0"})
    assert not is_light_by_environment({})


@pytest.mark.parametrize("is_set", [False, True])
async def test_a_light_terminal_gets_the_light_theme_unless_one_was_chosen(tmp_path: Path, is_set: bool) -> None:
    parts = StartupParts(
        load=lambda: services(tmp_path),
        history_path=tmp_path / "history",
        theme_dirs=[THEMES],
        theme="fanout-dark",
        working_folder=tmp_path,
        theme_is_set=is_set,
    )
    console = FanoutApp(parts)
    assert console.asks_background is not is_set
    async with console.run_test() as pilot:
        if console.asks_background:
            console.background_is(True)
        await until(pilot, lambda: isinstance(console.screen, ChatScreen))
        assert console.theme == ("fanout-dark" if is_set else "fanout-light")
        console.background_is(False)
        assert console.theme == "fanout-dark"
        console.theme = "plum"
        console.background_is(True)
        assert console.theme == "plum"
