"""The terminal's input: pastes of any size cut anywhere, keys of plain terminals, bytes that are no text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events

from console_app.tui.terminal.driver import PASTE_END, PASTE_START, InputFeed


def messages(*pieces: str) -> list[events.Event]:
    feed = InputFeed()
    return [message for piece in pieces for message in feed.feed(piece) if isinstance(message, events.Event)]


def keys(found: list[events.Event]) -> list[str]:
    return [message.key for message in found if isinstance(message, events.Key)]


def pastes(found: list[events.Event]) -> list[str]:
    return [message.text for message in found if isinstance(message, events.Paste)]


@given(
    st.text(alphabet=st.characters(blacklist_characters="\x00"), max_size=60).filter(
        lambda text: PASTE_END not in text
    ),
    st.lists(st.integers(0, 200), max_size=6),
)
def test_a_paste_arrives_whole_wherever_it_is_cut(text: str, cuts: list[int]) -> None:
    begin = "a" + PASTE_START
    rest = text + PASTE_END + "b"
    places = sorted({min(cut, len(rest)) for cut in cuts})
    pieces = [rest[i:j] for i, j in zip([0, *places], [*places, len(rest)], strict=True)]
    found = messages(begin, *pieces)
    assert pastes(found) == [text]
    assert keys(found) == ["a", "b"]


def test_five_megabytes_are_one_message() -> None:
    text = "line of a log\n" * 360_000
    whole = PASTE_START + text + PASTE_END
    pieces = [whole[i : i + 65_536] for i in range(0, len(whole), 65_536)]
    assert pastes(messages(*pieces)) == [text]


def test_escape_sequences_inside_a_paste_are_only_text() -> None:
    assert pastes(messages(PASTE_START + "\x1b[A\x03" + PASTE_END)) == ["\x1b[A\x03"]


def test_alt_enter_and_shift_enter_of_plain_terminals_are_told_from_enter() -> None:
    assert keys(messages("\x1b\r")) == ["alt+enter"]
    assert keys(messages("\x1b[27;2;13~")) == ["shift+enter"]
    assert keys(messages("\r")) == ["enter"]


def test_escape_and_tab_in_one_read_change_no_approval_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """tmux sends both at once when they are typed within half a second; on Linux' own console that is Shift+Tab."""
    monkeypatch.setenv("TERM", "tmux-256color")
    assert keys(messages("\x1b\t")) == ["escape", "tab"]
    assert keys(messages("\x1b[Z")) == ["shift+tab"]
    monkeypatch.setenv("TERM", "linux")
    assert keys(messages("\x1b\t")) == ["shift+tab"]


def test_alt_and_a_digit_is_a_key_in_every_terminal() -> None:
    assert keys(messages("\x1b1", "\x1b9", "\x1b[27;3;50~", "\x1b[51;3u")) == ["alt+1", "alt+9", "alt+2", "alt+3"]
    assert keys(messages(*(f"\x1b{digit}" for digit in "0123456789"))) == [f"alt+{digit}" for digit in "0123456789"]
    assert keys(messages("1", "¡")) == ["1", "inverted_exclamation_mark"]


def test_alt_and_a_sign_writes_nothing() -> None:
    assert keys(messages("\x1b-", "\x1b=", "\x1b[27;3;45~")) == ["alt+minus", "alt+equals_sign", "alt+minus"]


def test_alt_with_an_arrow_is_one_key_as_rxvt_sends_it_too() -> None:
    assert keys(messages("\x1b\x1b[A", "\x1b\x1bOB", "\x1b[1;3A")) == ["alt+up", "alt+down", "alt+up"]
    assert keys(messages("\x1b\x1b[5~", "\x1b\x1b[6~")) == ["alt+pageup", "alt+pagedown"]
