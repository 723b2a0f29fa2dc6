"""A call with other text behind it asks, whatever the words and in any language; none is lost without a word."""

from collections.abc import Callable
from itertools import product

from console_app.textcalls import ReadingLevel, Scanner, parse
from console_app.textcalls.model import ScanResult
from tests.each import each, pairs
from tests.examples import EXPLORING, turns
from tests.textcalls.answers import TOOLS
from tests.textcalls.quotations import SPOKEN, Machine
from tests.textcalls.test_quotations import CALL, CALLS, LEVELS, MARKED_CALLS, runs_unasked

MEANT = {
    "English": ("I'll look it up.", "Then I'll tell you."),
    "German": ("Ich lese die Datei.", "Danach melde ich mich."),
    "Spanish": ("Voy a leer el archivo.", "Luego te cuento."),
    "Russian": ("Я прочитаю файл.", "Потом расскажу."),
    "Japanese": ("ファイルを読みます。", "結果をお知らせします。"),
    "Chinese": ("我来读取文件。", "然后告诉你。"),
    "Korean": ("파일을 읽겠습니다.", "그다음 알려 드릴게요."),
    "Arabic": ("سأقرأ الملف.", "ثم أخبرك."),
    "Hindi": ("मैं फ़ाइल पढ़ता हूँ।", "फिर बताता हूँ।"),
    "Thai": ("ฉันจะอ่านไฟล์", "แล้วจะบอกคุณ"),
}
QUOTED = {
    "English": ("I'll show what the page says.", "Done."),
    "German": ("Ich führe das hier aus der Seite auf keinen Fall aus.", "Fertig."),
    "Spanish": ("No voy a ejecutar esto.", "Listo."),
    "Russian": ("Я не буду это выполнять.", "Готово."),
    "Japanese": ("ログには次のように書かれています。", "実行しません。"),
    "Chinese": ("日志中是这样写的。", "我不会执行。"),
    "Korean": ("로그에는 이렇게 적혀 있습니다.", "실행하지 않겠습니다."),
    "Arabic": ("لن أنفذ هذا.", "انتهى."),
    "Hindi": ("लॉग में यह लिखा है।", "मैं इसे नहीं चलाऊँगा।"),
    "Thai": ("ในบันทึกเขียนไว้ว่า", "ฉันจะไม่เรียกใช้"),
}
SAID = {
    f"{language}, {how}": pair
    for how, said in (("meant", MEANT), ("quoted", QUOTED))
    for language, pair in said.items()
}
SAID_WITH = [
    pair
    for number, pair in enumerate(product(SAID, CALLS))
    if EXPLORING or (number + number // len(CALLS)) % 3 == 0  # a third of the sentences beside each dialect
]
JOINED = {"lines": "\n", "paragraphs": "\n\n"}


def read(text: str, dialect: str, level: ReadingLevel) -> ScanResult:
    """An answer at a level; at that of `text` the dialect is the one that the model was asked for."""
    scanner = Scanner(TOOLS, dialect if level == "all" else None, level)
    scanner.feed(text)
    return scanner.finish()


LEADS: tuple[Callable[[str, str], str], ...] = (
    lambda before, joined: f"{before}{joined}",
    lambda before, joined: f"{before[:-1]}:{joined}",
    lambda _before, _joined: "",
)


def test_a_call_with_a_sentence_behind_it_asks_or_is_told_of() -> None:
    """Every dialect before every sentence in every form; they meet every level, a line's end and a paragraph's, and a
    model that was asked for another dialect."""
    for (said, dialect), lead, joined, level, own in pairs(SAID_WITH, LEADS, JOINED.values(), LEVELS, (True, False)):
        (before, behind), call = SAID[said], CALLS[dialect].strip()
        asked = dialect if own else "hermes_json"
        text = f"{lead(before, joined)}{call}{joined}{behind}"
        result = read(text, asked, level)
        assert not runs_unasked(result, level), f"{dialect}:\n{text}"
        assert result.calls or [one.name for one in result.problems] == [CALL.name], f"{dialect}:\n{text}"
        if (level == "all" and asked == dialect) or dialect in MARKED_CALLS:
            assert [(one.name, one.arguments) for one in result.calls] == [(CALL.name, CALL.arguments)], text


def test_a_call_that_ends_an_answer_runs_behind_whole_sentences_of_any_language() -> None:
    """No words tell a call that is meant from a quoted one: its text in what the model was given does."""
    leads: tuple[Callable[[str, str], str], ...] = (
        lambda before, _behind: before,
        lambda before, behind: f"{before} {behind}",
        lambda before, _behind: f"{before[:-1]}:",
    )
    for (said, dialect), made, level in pairs(SAID_WITH, leads, LEVELS):
        before, behind = SAID[said]
        lead, stops = made(before, behind), before[-1] in ".。।"
        result = read(f"{lead}\n\n{CALLS[dialect].strip()}", dialect, level)
        assert [(one.name, one.arguments) for one in result.calls] == [(CALL.name, CALL.arguments)], lead
        if level == "all" or dialect in MARKED_CALLS:
            runs = lead[-1] != ":" and stops
            assert [one.asks is None for one in result.calls] == [runs], f"{dialect}:\n{lead}"


@each("machine", SPOKEN.values(), ids=SPOKEN.keys())
def test_no_word_before_a_call_hides_it_or_lets_it_run_before_other_text(machine: Machine) -> None:
    for call in MARKED_CALLS.values():
        text = machine(call.strip())
        assert len(parse(text, TOOLS, level="marked").calls) == 1, text
        behind = parse(f"{text.rstrip()}\n\nIt is odd.", TOOLS, level="marked")
        assert ["maybe quoted" in (one.asks or "") for one in behind.calls] == [True], text


@each("level", LEVELS)
@each("result", ["Observation: done\n", "<tool_response>\nok\n</tool_response>", "```tool_output\nok\n```"])
def test_a_call_before_results_that_the_model_made_up_asks(result: str, level: ReadingLevel) -> None:
    for dialect, call in CALLS.items():
        answer = read(f"{call.rstrip()}\n{result}\nThat is all.", dialect, level)
        assert not runs_unasked(answer, level), dialect
        assert answer.calls or [one.name for one in answer.problems if one.name] == [CALL.name], dialect


@each("level", LEVELS)
@each("lead", ["For example:", "Example:", "You write, for instance:", "It would be:", "e.g."])
def test_a_marked_call_that_is_called_an_example_asks(lead: str, level: ReadingLevel) -> None:
    for dialect, call in MARKED_CALLS.items():
        for behind in ("", "\n\nSo it goes."):
            result = parse(f"{lead}\n{call.strip()}{behind}", TOOLS, level=level)
            assert ["maybe quoted" in (one.asks or "") for one in result.calls] == [True], dialect


@each(
    ("level", "info", "before"),
    turns(LEVELS, ["", "xml", "json", "tool_call"], ["", "Here it is.\n\n", "It says:\n\n"]),
)
def test_a_fence_around_a_call_with_text_behind_it_never_runs_unasked(
    level: ReadingLevel, info: str, before: str
) -> None:
    for dialect, call in CALLS.items():
        if "```" not in call:
            for asked in (dialect, "fenced_json", "qwen3_coder_xml"):
                result = read(f"{before}```{info}\n{call.strip()}\n```\n\nSo it goes.", asked, level)
                assert not runs_unasked(result, level), dialect
                assert result.calls or [one.name for one in result.problems if one.name] == [CALL.name], dialect


@each("end", ["\nObservation:", "\nObservation: "])
def test_an_action_that_the_word_for_its_result_ends_runs(end: str) -> None:
    result = read(f"Thought: I look.\n{CALLS['react'].strip()}{end}", "react", "all")
    assert [(one.arguments, one.asks) for one in result.calls] == [(CALL.arguments, None)]
