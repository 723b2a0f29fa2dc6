"""Every case of the corpus, read strictly, in whatever pieces it comes."""

from typing import Any

from console_app.textcalls import parse
from tests.each import each
from tests.examples import EXPLORING
from tests.textcalls.answers import CORPUS, called, folded, identical, tools_of, watched


@each("case", CORPUS, ids=lambda case: case["id"])
def test_a_case_gives_the_calls_the_text_and_the_error_it_should(case: dict[str, Any]) -> None:
    result = parse(case["text"], tools_of(case))
    expected = case["expected"]
    wanted = [(call["name"], call["arguments"]) for call in expected["calls"]]
    assert identical([list(pair) for pair in called(result)], [list(pair) for pair in wanted])
    assert result.error == expected["error"]
    if case.get("asks"):
        assert all(one.asks for one in result.calls)
    if expected["content"] is not None:
        assert folded(result.content) == folded(expected["content"])


PIECES = [[2], [3], [7], [5, 1, 13, 2]]


@each(
    ("case", "pieces"),
    [(case, PIECES if EXPLORING else [PIECES[number % 4]]) for number, case in enumerate(CORPUS)],
    ids=[case["id"] for case in CORPUS],
)
def test_a_case_read_in_pieces_gives_the_same_result_and_shows_the_same(
    case: dict[str, Any], pieces: list[list[int]]
) -> None:
    tools = tools_of(case)
    whole, screen, streamed = watched(case["text"], tools, [max(1, len(case["text"]))])
    for sizes in ([1], *pieces):
        result, other, shown = watched(case["text"], tools, sizes)
        assert result == whole
        assert shown == streamed
        assert other.text == screen.text
        assert other.panels == screen.panels == {call.index: call.name for call in result.calls}


@each("case", CORPUS, ids=lambda case: case["id"])
def test_what_is_on_the_screen_at_the_end_is_the_content(case: dict[str, Any]) -> None:
    result, screen, _ = watched(case["text"], tools_of(case), [3])
    assert folded(screen.text) == folded(result.content)
    for call in result.calls:
        assert case["text"][call.start : call.end] == call.raw
        assert call.raw.endswith(screen.arguments[call.index])


@each("case", CORPUS, ids=lambda case: case["id"])
def test_line_ends_of_windows_and_a_byte_order_mark_change_nothing(case: dict[str, Any]) -> None:
    def plain(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("\r\n", "\n")
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list) else value

    result = parse("\ufeff" + case["text"].replace("\n", "\r\n"), tools_of(case))
    expected = case["expected"]
    assert plain([list(pair) for pair in called(result)]) == [
        [call["name"], call["arguments"]] for call in expected["calls"]
    ]
    assert result.error == expected["error"]
