"""The rules of the offline model, in the order in which they read a prompt. A new one is a module and a line here."""

from __future__ import annotations

from console_app.providers.offline.rule import AnswerRule
from console_app.providers.offline.rules.arithmetic import ARITHMETIC
from console_app.providers.offline.rules.demo import DEMO
from console_app.providers.offline.rules.files import FILES
from console_app.providers.offline.rules.limits import LIMITS
from console_app.providers.offline.rules.named_calls import NAMED_CALLS
from console_app.providers.offline.rules.orders import ORDERS
from console_app.providers.offline.rules.searches import SEARCHES
from console_app.providers.offline.rules.slides import SLIDES
from console_app.providers.offline.rules.todo import TODO

RULES: tuple[AnswerRule, ...] = (NAMED_CALLS, TODO, SLIDES, FILES, SEARCHES, ORDERS, DEMO, ARITHMETIC, LIMITS)
