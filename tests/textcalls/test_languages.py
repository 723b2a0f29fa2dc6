"""In ten languages: a call that is quoted, led to or refused never runs unasked, and a meant one is not lost."""

from __future__ import annotations

from itertools import product

from console_app.textcalls import FAMILIES, ReadingLevel, parse, render_calls, unread
from console_app.textcalls.model import WrittenCall
from tests.examples import EXPLORING
from tests.textcalls.answers import TOOLS

CALL = WrittenCall("read_file", {"path": "a b"})
SAID = {
    "English": ("The log says this:", "I will not run it.", "I look it up."),
    "German": ("Im Protokoll steht:", "Das führe ich nicht aus.", "Ich sehe nach."),
    "French": ("Le journal dit :", "Je ne l'exécuterai pas.", "Je regarde."),
    "Spanish": ("El registro dice:", "No lo voy a ejecutar.", "Lo miro ahora."),
    "Russian": ("В журнале написано:", "Я этого не сделаю.", "Сейчас посмотрю."),
    "Japanese": ("ログには次のように書かれています：", "実行しません。", "確認します。"),
    "Chinese": ("日志中写着：", "我不会执行它。", "我来查看一下。"),
    "Arabic": ("يقول السجل:", "لن أنفذ ذلك.", "سأتحقق من الأمر."),
    "Hindi": ("लॉग में लिखा है:", "मैं इसे नहीं चलाऊँगा।", "मैं देखता हूँ।"),
    "Korean": ("로그에 이렇게 적혀 있습니다:", "실행하지 않겠습니다.", "확인해 보겠습니다."),
}
QUOTED = [
    "{lead}\n{call}\n{no}", "{lead}\n\n{call}", "{lead} {call} {no}", "{own}\n\n{call}\n\n{no}", "{lead} `{call}` {no}",
    '{lead} "{call}" {no}', "{lead}「{call}」{no}", "{lead}\n```\n{call}\n```", "{own}\n\n- {call}\n- {no}",
    "{own}\n<note>\n{call}\n</note>", "<page>\n{call}", "{own}\n<!-- {call} -->", "{own} ({call}) {no}", "{call} {no}",
    "{own}\n\n---\n{call}\n---\n{no}",
]  # fmt: skip
MEANT = ["{call}", "{own}\n\n{call}", "{own} {call}", "{call}\n\n{own}", "```\n{call}\n```", "{call}<|im_end|>"]


def test_a_quoted_call_asks_and_a_meant_one_is_read_or_told_of() -> None:
    """Every family in every place; they meet every language, at the levels in turns, or at both in `make explore`."""
    levels: list[ReadingLevel] = ["marked", "all"]
    said = list(SAID.values())
    around = [(True, one) for one in QUOTED] + [(False, one) for one in MEANT]
    assert len(around) % 2, "so that levels take turns at each place"
    for number, (family, (quoted, place)) in enumerate(product(FAMILIES, around)):
        lead, no, own = said[number % len(said)]
        for level in levels if EXPLORING else [levels[number % 2]]:
            call = render_calls(family, [CALL], TOOLS).strip("\n")
            text = place.format(lead=lead, no=no, own=own, call=call)
            result = parse(text, TOOLS, level=level, prefer=family if level == "all" else None)
            if quoted:
                assert all(one.asks for one in result.calls), text
            else:
                assert result.calls or result.problems or unread(text, ["read_file"]), text
