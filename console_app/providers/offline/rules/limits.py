"""The last rule: names the parts of a prompt that ask for understanding, so that nothing is passed over in silence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console_app.providers.offline.report import code
from console_app.providers.offline.rule import AnswerRule, AskedPrompt, RuleFinding
from console_app.providers.offline.toolbox import OfflineTools

_BEYOND = re.compile(
    r"\b(?:write|compose|explain|describe|translate|summari[sz]e|compare|review|fix|debug|refactor|implement|improve"
    r"|recommend|tell\s+me|why|who|draft)\b[^.,;!?\n]{1,200}",
    re.IGNORECASE,
)
_MOST = 3


def _read(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    for number, found in enumerate(_BEYOND.finditer(asked.text)):
        if number < _MOST:
            problem = f"{code(found[0], 80)} is beyond me: I only follow rules."
            yield RuleFinding(found.start(), found.end(), problem=problem)


LIMITS = AnswerRule(name="limits", can="", able=lambda tools: False, read=_read)
