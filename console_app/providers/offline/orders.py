"""The rule for the order database: orders of a customer, one order, all of them, a new status, and the revenue."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from console_app.providers.offline.rule import (
    QUOTED,
    AnswerRule,
    AskedPrompt,
    Match,
    OfflineTools,
    PlannedCall,
    RuleFinding,
    missing,
    unquoted,
)

_ID = r"(?:(?:number|no\.?|id)\s*)?#?((?:[A-Za-z]{1,5}-)?\d{1,12})\b"
_OF_CUSTOMER = re.compile(
    r"\b[Oo]rders?\s+(?:for|of|from|by|placed\s+by)\s+(?:the\s+)?(?:customer\s+)?"
    rf"({QUOTED}|[A-Z][\w&.-]*(?:[ \t]+[A-Z][\w&.-]*){{0,4}})"
)
_STATUS = re.compile(
    rf"\b(?:mark|set|update|change)\s+(?:the\s+)?(?:status\s+of\s+)?order\s+{_ID}\s+(?:as|to)\s+({QUOTED}|\w+)", re.I
)
_ONE = re.compile(rf"\border\s+{_ID}", re.IGNORECASE)
_ALL = re.compile(
    r"\b(?:list|show|get|fetch|look\s+up)\s+(?:me\s+)?(?:all\s+)?(?:of\s+)?(?:the\s+|our\s+|my\s+)?orders\b", re.I
)
_REVENUE = re.compile(r"\b(?:total\s+)?revenue(?:\s+(?:summary|report|total))?\b|\bsales\s+summary\b", re.IGNORECASE)
_IDS = ("order_id", "order_number", "id", "order", "number")


def _of_customer(tools: OfflineTools) -> Match | None:
    return tools.find(("find_orders", "search_orders"), customer=("customer", "customer_name", "name"))


def _revenue(tools: OfflineTools) -> Match | None:
    return tools.find(("revenue_summary", "get_revenue_summary"))


def _new_status(tools: OfflineTools) -> Match | None:
    return tools.find(("update_order_status",), order=_IDS, status=("status", "new_status"))


_READERS: tuple[tuple[re.Pattern[str], str, Callable[[OfflineTools], Match | None], tuple[str, ...]], ...] = (
    (_OF_CUSTOMER, "find_orders", _of_customer, ("customer",)),
    (_STATUS, "update_order_status", _new_status, ("order", "status")),
    (_ONE, "get_order", lambda tools: tools.find(("get_order",), order=_IDS), ("order",)),
    (_ALL, "list_all_orders", lambda tools: tools.find(("list_all_orders", "list_orders")), ()),
    (_REVENUE, "revenue_summary", _revenue, ()),
)


def _call(tool: Match, names: tuple[str, ...], found: re.Match[str]) -> PlannedCall:
    return tool.call(**{name: unquoted(group) for name, group in zip(names, found.groups(), strict=True)})


def _read(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    taken: list[tuple[int, int]] = []
    for pattern, name, find, names in _READERS:
        for found in pattern.finditer(asked.text):
            tool = find(tools)
            if tool is None and pattern is _ONE:
                continue  # "in order 2" and the like: no reason to speak of a tool
            if any(start < found.end() and found.start() < end for start, end in taken):
                continue
            taken.append(found.span())
            if tool:
                yield RuleFinding(found.span(), (_call(tool, names, found),))
            else:
                yield missing(found.span(), f"look up “{found[0].strip()}”", f"order_database.{name}")


ORDERS = AnswerRule(
    can="look up orders: `look up all orders for customer 'Acme Corp' and the total revenue summary`",
    able=lambda tools: (_of_customer(tools) or _revenue(tools)) is not None,
    read=_read,
)
