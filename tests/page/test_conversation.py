"""A conversation as one page: what is on it, and that nothing foreign acts there."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from console_app import page
from console_app.config.secrets import Redactor
from console_app.domain import events as ev
from console_app.domain.tools import Artifact, Outcome
from tests.each import each
from tests.page.parts import HOSTILE, Page, approved, faults, in_order, saying
from tests.sessions.test_store import numbered


@each("text", HOSTILE)
def test_what_anybody_says_acts_nowhere(text: str) -> None:
    written = page.of_conversation(saying(text), text)
    assert faults(written) == []
    assert not {"\x1b", "\u202e", "\x00", "\ud800"} & set(written)


@given(st.lists(st.sampled_from(HOSTILE), min_size=2, max_size=4).map("\n".join))
def test_nor_does_what_several_say_together(text: str) -> None:
    assert faults(page.of_conversation(saying(text), text)) == []


def test_an_answer_is_drawn_as_it_was_meant() -> None:
    said = "# Head\n\nSome *words*.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\ndef f(): ...\n```\n\n[page](https://a.test)"
    shown = Page(
        page.of_conversation(numbered(ev.TurnStarted(prompt="go"), ev.StepStarted(), ev.TextDelta(text=said)), "")
    )
    assert {"h1", "em", "table", "td", "code", "a"} <= {tag for tag, _ in shown.tags}
    assert "keyword" not in shown.text
    assert "def f(): ..." in shown.text
    assert "|---|" not in shown.text


def test_a_call_tells_all_that_is_known_of_it() -> None:
    shown = Page(page.of_conversation(approved(), "Title")).text
    told = ("ls -l", "to look", "Runs a command", "Approved by you", "Be quick.", "these lines were displayed", "fine")
    assert [one for one in told if one.lower() not in shown.lower()] == []
    assert "1 call of its own" in shown
    assert "needs you 1.5 s" in shown


def test_an_agent_is_told_with_what_it_did_and_cost() -> None:
    of_agent = {"agent": "scout", "turn": 1}
    events = in_order(
        ev.TurnStarted(prompt="Look.", turn=1, at=0.5),
        ev.StepStarted(turn=1),
        ev.UsageReported(input_tokens=70, output_tokens=3, cost=0.5, turn=1),
        ev.CallAnnounced(call_id="a", index=0, name="fanout_agent", server="fanout", tool="agent", at=1.0),
        ev.CallReady(call_id="a", arguments={"task": "find it"}, at=1.0),
        ev.CallStarted(call_id="a", at=1.0),
        ev.SessionStarted(
            model="m", provider="p", protocol="native", strategy="agentic", policy="parallel", parent="a", **of_agent
        ),
        ev.TurnStarted(prompt="find it", at=1.0, **of_agent),
        ev.StepStarted(**of_agent),
        ev.UsageReported(input_tokens=1200, output_tokens=300, cost=0.0123, **of_agent),
        ev.TurnFinished(outcome="completed", at=2.0, **of_agent),
        ev.CallFinished(call_id="a", outcome=Outcome.SUCCEEDED, content="Found.", at=2.0),
        ev.TurnFinished(outcome="completed", turn=1, at=3.0),
    )
    shown = Page(page.of_conversation(events, "Title")).text
    for words in ("scout: 1.5k tokens · $0.0123", "Cost of the agent scout", "1.2k tokens in, 300 out, $0.0123"):
        assert words in shown, words
    assert "70 tokens in, 3 out, $0.5000" in shown, "its own alone"


def test_other_lines_than_were_displayed_are_not_said_to_have_been() -> None:
    events = [
        one.model_copy(update={"displayed": "0" * 64}) if isinstance(one, ev.ApprovalResolved) else one
        for one in approved()
    ]
    shown = Page(page.of_conversation(events, "Title")).text
    assert "these lines were displayed" not in shown
    assert "0" * 64 in shown


def test_the_words_are_those_of_the_screen() -> None:
    """`said no`, its reason and the counts: who reads the page reads what was on screen."""
    shown = Page(page.of_conversation(approved(), "Title")).text
    for words in ("2 ok", "1 said no", "exit 1", "one by one"):
        assert words in shown


def test_calls_of_a_program_stand_below_it_and_on_the_slider() -> None:
    written = page.of_conversation(approved(), "Title")
    outer, inner = written.index('<details class="call good"'), written.index("Calls that it made")
    assert outer < inner < written.index("part", inner) < written.index("exit 1", inner)
    slider = next(one for one in Page(written).all("input") if one["type"] == "range")
    assert slider["data-seconds"] == "4.000"
    waits = [one for one in Page(written).all("rect") if one["class"] == "wait"]
    assert [(one["x"], one["width"]) for one in waits] == [("125.0", "375.0")]


def test_pictures_are_on_the_page_only_out_of_the_folder_of_results(tmp_path: Path) -> None:
    inside, outside = tmp_path / "files", tmp_path / "private"
    for folder in (inside, outside):
        folder.mkdir()
        Image.new("RGB", (4, 3), "red").save(folder / "p.png")
    (inside / "no.png").write_text("<script>")
    (inside / "link.png").symlink_to(outside / "p.png")
    paths = [inside / "p.png", inside / "no.png", inside / "link.png", inside / "gone.png", outside / "p.png"]
    shown = [Artifact(name=one.name, mime="image/png", path=str(one)) for one in paths]
    events = numbered(
        ev.TurnStarted(prompt="go"),
        ev.StepStarted(),
        ev.CallAnnounced(call_id="a", index=0, name="draw"),
        ev.CallFinished(call_id="a", outcome=Outcome.SUCCEEDED, content="", artifacts=tuple(shown)),
    )
    written = page.of_conversation(events, "", pictures=inside)
    assert [(one["width"], one["height"]) for one in Page(written).all("img")] == [("4", "3")]
    assert faults(written) == []
    assert Page(page.of_conversation(events, "")).all("img") == []


def test_a_secret_is_nowhere_even_where_a_text_was_cut_in_it() -> None:
    secret = "sk-verysecret-<&>-0123456789abcdef"
    events = saying(f"{'x' * 190} {secret} and on") + approved(secret)[1:]
    written = page.of_conversation(events, secret, Redactor([secret]))
    assert "verysecret" not in written
    assert faults(written) == []
