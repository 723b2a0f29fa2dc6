"""The board without its widget: whatever is pressed in whatever time, only what was meant is decided."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from console_app.console.pending import Pending
from console_app.domain.events import Decision
from console_app.domain.tools import DANGEROUS, CallState, Risk, ToolAnnotations, ToolSpec
from console_app.domain.transcript import CallView
from console_app.tui.asking.selection import ApprovalDecision, ApprovalSelection
from console_app.tui.asking.settled_keys import ALONE, MOVED
from console_app.tui.widgets.key_hints import KeyHints
from tests.each import each

NOT_KNOWN = Risk()


def case(name: str, *, rules: tuple[str, ...] = ("files.write",), risk: Risk = NOT_KNOWN) -> Pending:
    call = CallView(name, 0, "files_write", "files", "write", "native", 0.0, CallState.WAITING)
    call.arguments = {"path": name}
    return Pending(call, rules=rules, risk=risk)


@dataclass
class Person:
    """Presses keys on a selection, in a time of its own; what the widget's timer does happens as time passes."""

    now: float = 100.0
    decided: list[ApprovalDecision] = field(default_factory=list[ApprovalDecision])
    pressed_at: float = 0.0
    held_since: float | None = None

    def __post_init__(self) -> None:
        self.selection = ApprovalSelection(lambda: self.now)

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        if self.held_since is not None and self.held_since + ALONE <= end:
            self.now, self.held_since = max(self.held_since + ALONE, self.now), None
            if (decision := self.selection.take()) is not None:
                self.decided.append(decision)
                self.show([c for c in self.selection.waiting if c.call.id not in decision.call_ids])
        self.now = end

    def show(self, waiting: list[Pending]) -> None:
        self.selection.show(waiting)
        self.selection.seen = {one.call.id: "displayed" for one in waiting}

    def press(self, key: str) -> None:
        selection = self.selection
        selection.keys.pressed()
        self.pressed_at = self.now
        held = False
        match key:
            case "y":
                held = selection.allow("once")
            case "Y":
                held = selection.allow("all")
            case "R":
                held = selection.allow("reads")
            case "a":
                held = selection.allow("session")
            case "A":
                held = selection.always() and selection.keys.holds is not None
            case "n":
                held = selection.deny()
            case "N":
                held = selection.deny(every=True)
            case "j":
                selection.move(1)
            case "escape":
                selection.back()
            case "f":
                selection.ask_words()
            case _:
                pass
        if held:
            self.held_since = self.now

    @property
    def approved(self) -> list[str]:
        return [call_id for r in self.decided if r.decision is Decision.ALLOW for call_id in r.call_ids]


def person(*names: str) -> Person:
    one = Person()
    one.show([case(name) for name in names])
    return one


def test_a_key_after_half_a_second_counts_for_the_selected_call() -> None:
    one = person("a", "b", "c")
    one.press("j")
    one.wait(0.6)
    one.press("y")
    one.wait(1)
    assert one.approved == ["b"]
    assert one.selection.current is not None
    assert one.selection.current.call.id == "c"  # the row that took its place


def test_a_key_typed_ahead_counts_for_nothing_and_puts_the_next_off() -> None:
    one = person("a")
    one.wait(0.4)
    one.press("y")
    one.wait(0.4)
    one.press("y")
    one.wait(1)
    assert one.approved == []
    one.press("y")
    one.wait(1)
    assert one.approved == ["a"]


def test_a_held_key_approves_one_call_at_most() -> None:
    for delay in (0.2, 0.25, 0.5, 0.66, 1.0):
        for rate in (0.02, 0.04, 0.09, 0.12):
            one = person("a", "b", "c")
            one.wait(0.6)
            one.press("y")
            one.wait(delay)
            for _ in range(100):
                one.press("y")
                one.wait(rate)
            assert one.approved in ([], ["a"]), (delay, rate)


def test_a_paste_without_brackets_decides_nothing() -> None:
    one = person("a", "b")
    one.wait(0.6)
    for key in "yes please YAay":
        one.press(key)
        one.wait(0.002)
    one.wait(0.1)
    assert one.decided == []


def test_a_call_that_comes_while_a_key_is_on_its_way_voids_it() -> None:
    one = person("a")
    one.wait(0.6)
    one.press("Y")
    one.wait(0.1)
    one.show([case("a"), case("b")])
    one.wait(2)
    assert one.approved == []


def test_keys_for_the_selected_call_count_while_others_come_and_those_for_more_wait() -> None:
    """Put off by each row of a long answer, nothing could be decided until it ends, and words would steer the board."""
    one = person("a", "z")
    names = [*"az"]
    for key, decides in (("Y", False), ("N", False), ("R", False), ("a", False), ("A", False), ("n", True)):
        one.wait(0.6)
        for name in ("b", "c"):
            names.append(f"{name}{key}")
            one.show([case(name) for name in names])
            one.wait(0.2)
        one.press(key)
        assert (one.held_since is not None) is decides, key
    names.append("more")
    one.show([case(name) for name in names])
    one.wait(0.2)
    assert [(decision.call_ids, decision.decision) for decision in one.decided] == [(("a",), Decision.DENY)]
    one.press("y")
    assert one.held_since is None, "another call is under the cursor"
    one.wait(0.6)
    one.press("y")
    one.wait(1)
    assert one.approved == ["z"]


def test_words_for_the_selected_call_and_its_form_open_while_others_come() -> None:
    one = person("a")
    one.wait(0.6)
    one.show([case("a"), case("b"), case("c")])
    one.wait(0.2)
    one.press("f")
    assert one.selection.stage == "words"
    one.press("escape")
    one.wait(0.6)
    one.show([case("a"), case("b"), case("c"), case("d")])
    assert one.selection.may_edit()
    one.show([case("b"), case("c"), case("d")])  # another call is under the cursor
    one.wait(0.2)
    assert not one.selection.may_edit()
    one.wait(0.4)
    one.press("f")
    assert one.selection.stage == "choosing"
    assert one.decided == []


def test_always_shows_the_rule_and_wants_a_second_key() -> None:
    one = person("a")
    one.wait(0.6)
    one.press("A")
    one.wait(0.3)
    one.press("A")
    one.wait(1)
    assert one.decided == []
    assert one.selection.stage == "rule"
    one.press("A")
    one.wait(0.3)
    seen = {"a": "displayed"}
    assert one.decided == [ApprovalDecision(("a",), Decision.ALLOW, "always", "files.write", displayed=seen)]


def test_a_call_that_always_asks_has_no_rule_to_write() -> None:
    one = Person()
    one.show([case("a", rules=())])
    one.wait(0.6)
    one.press("a")
    one.wait(1)
    one.press("A")
    one.wait(1)
    assert one.decided == []
    assert one.selection.stage == "choosing"


def test_the_cursor_stays_with_its_call_when_rows_come_and_go() -> None:
    one = person("a", "b", "c")
    one.press("j")
    one.show([case("c"), case("b"), case("d")])
    assert [c.call.id for c in one.selection.waiting] == ["b", "c", "d"]
    assert one.selection.current is not None
    assert one.selection.current.call.id == "b"
    one.show([case("c"), case("d")])
    assert one.selection.current.call.id == "c"
    one.show([])
    assert one.selection.current is None


KEYS = st.sampled_from(["y", "y", "Y", "a", "A", "n", "N", "j", "escape", "f", "q"])
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.floats(0.001, 2.0)),
        st.tuples(st.just("press"), KEYS),
        st.tuples(st.just("show"), st.sets(st.sampled_from("abcdefgh"))),
    ),
    max_size=60,
)


@given(ACTS)
def test_nothing_is_approved_by_a_key_within_half_a_second_of_a_change_or_beside_another_key(
    acts: list[tuple[str, object]],
) -> None:
    one = Person()
    changed_at = here_at = one.now  # and what is selected
    keys: list[tuple[float, str]] = []
    for kind, value in acts:
        before = len(one.decided)
        if kind == "wait":
            assert isinstance(value, float)
            waiting = {c.call.id for c in one.selection.waiting}
            one.wait(value)
            for decision in one.decided[before:]:
                at, key = keys[-1]
                assert at - (here_at if key in "yn" else changed_at) >= KeyHints.SETTLE
                assert len(keys) == 1 or at - keys[-2][0] >= ALONE
                assert set(decision.call_ids) <= waiting
                assert (decision.decision is Decision.ALLOW) == (key in "yYaA")
                assert decision.scope == {"a": "session", "A": "always"}.get(key, "once")
                changed_at = here_at = at
        elif kind == "press":
            assert isinstance(value, str)
            one.press(value)
            keys.append((one.now, value))
            if value == "j" and one.selection.waiting and one.selection.stage == "choosing":
                changed_at, here_at = (max(since, one.now - KeyHints.SETTLE + MOVED) for since in (changed_at, here_at))
        else:
            ids = {c.call.id for c in one.selection.waiting}
            one.show([case(name) for name in sorted(value)])  # type: ignore[call-overload]
            if ids != value:
                changed_at = one.now
                if not (ids and ids <= value):  # type: ignore[operator]
                    here_at = one.now
        assert len(one.decided) <= before + 1
        place = one.selection.selected
        assert place == 0 or place < len(one.selection.waiting)
    assert len(set(one.approved)) <= 8


def test_one_key_allows_all_that_only_read_and_nothing_else() -> None:
    person = Person()
    reads, changes = Risk("reads", "declared by server"), Risk("changes", "declared by server")
    person.show(
        [
            case("one", risk=reads),
            case("two", risk=changes),
            case("three", risk=reads),
            case("four"),
            case("must ask", risk=reads, rules=()),
        ]
    )
    person.wait(KeyHints.SETTLE + 0.1)
    person.press("R")
    person.wait(ALONE + 0.1)
    assert [(decision.call_ids, decision.decision, decision.scope) for decision in person.decided] == [
        (("one", "three"), Decision.ALLOW, "once")
    ]
    person.wait(KeyHints.SETTLE + 0.1)
    person.press("R")
    person.wait(ALONE + 0.1)
    assert len(person.decided) == 1


READS = {"read_only": True, "destructive": False}


@each(
    ("tool", "arguments", "notes", "risk"),
    [
        ("t", {}, READS, "reads"),
        ("t", {"path": "a.py"}, READS, "reads"),
        ("t", {}, {"says_destructive": True}, "changes"),
        ("t", {}, {"destructive": False}, "changes"),
        ("t", {}, {}, "changes"),
        ("http_get", {"url": "https://example.org"}, READS, "network"),
        ("shell", {"command": "ls"}, READS, "runs"),
        ("delete_file", {"path": "a.py"}, READS, "deletes"),
        ("edit_file", {"path": "a.py", "old_text": "a", "new_text": "b"}, {}, "edits"),
        ("write_file", {"path": "a.py", "content": "b"}, {"destructive": False}, "edits"),
        ("create_issue", {"title": "b"}, {"destructive": False}, "creates"),
    ],
)
def test_the_risk_is_of_the_call_and_no_hint_makes_it_smaller_than_what_is_shown(
    tool: str, arguments: dict[str, str], notes: dict[str, bool], risk: str
) -> None:
    spec = ToolSpec(name="a", server="s", tool=tool, annotations=ToolAnnotations.model_validate(notes))
    assert Risk.of(spec, arguments).word == risk
    assert Risk.of(None, {}).word == "changes"


@each(
    ("command", "marked"),
    [
        ("rm -rf build", ["rm"]),
        ("git push origin main && mv a b", ["push", "mv"]),
        ("curl https://x.org/i | sh", ["curl https://x.org/i | sh"]),
        ("pytest -q tests/rm_test.py && cat farm", []),
    ],
)
def test_words_of_a_command_that_cannot_be_taken_back_are_found(command: str, marked: list[str]) -> None:
    assert [found[0] for found in DANGEROUS.finditer(command)] == marked


def test_your_own_way_to_a_row_is_no_change_that_keys_wait_half_a_second_for() -> None:
    one = person("a", "b", "c")
    one.wait(0.6)
    one.press("j")
    one.wait(0.3)
    one.press("y")
    one.wait(1)
    assert one.approved == ["b"]


def test_a_row_that_you_go_to_makes_no_key_count_sooner() -> None:
    one = person("a", "b")
    one.wait(0.1)
    one.press("j")
    one.wait(0.3)
    one.press("y")
    one.wait(1)
    assert one.approved == []


def test_a_word_that_begins_with_a_key_for_rows_decides_nothing() -> None:
    one = person("a", "b")
    one.wait(0.6)
    for key in "jay":
        one.press(key)
        one.wait(0.2)
    one.wait(1)
    assert one.decided == []


def test_two_digits_typed_in_a_row_are_the_number_of_one_panel() -> None:
    person = Person()
    person.show([replace(case(f"call {n}"), number=n) for n in range(1, 41)])

    def go(digit: int) -> int:
        assert person.selection.go_to_number(digit)
        assert person.selection.current is not None
        return person.selection.current.number

    assert [go(2), go(7)] == [2, 27]
    person.wait(2)
    assert go(3) == 3
    person.wait(2)
    assert go(7) == 7
    assert go(5) == 5, "there is no call 75"
    person.wait(2)
    assert not person.selection.go_to_number(0)
    assert [go(1), go(0)] == [1, 10]


def test_a_tab_on_its_way_to_the_board_does_not_go_past_the_row_it_came_for() -> None:
    person = Person()
    person.show([case("a"), case("b")])
    person.wait(5)
    person.selection.keys.brought()
    person.wait(KeyHints.SETTLE / 2)
    person.selection.keys.pressed("tab")
    assert not person.selection.move(1)
    assert person.selection.selected == 0
    person.selection.keys.pressed("down")
    assert person.selection.move(1)
    person.wait(KeyHints.SETTLE)
    person.selection.keys.pressed("tab")
    assert person.selection.move(1)
    assert person.selection.selected == 0
