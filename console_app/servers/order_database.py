"""A server with a small order database to try things on. Run it as `python -m console_app.servers.order_database`.

The orders are made up; their file lies in the folder that FANOUT_ORDERS names, else in this user's data folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from console_app.servers.counts import counted
from console_app.servers.order_store import STATUSES, Order, OrderStore, data_file
from console_app.servers.stdio_server import StdioServer
from console_app.servers.tool import Arguments, CallContext, Tool, ToolFailedError, ToolOutput


def _store() -> OrderStore:
    return OrderStore(data_file())


async def list_all_orders(arguments: Arguments, context: CallContext) -> ToolOutput:
    """Every order."""
    return _listed(await asyncio.to_thread(_store().all))


async def get_order(arguments: Arguments, context: CallContext) -> ToolOutput:
    """One order."""
    number: int = arguments["order_number"]
    order = await asyncio.to_thread(_store().get, number)
    if order is None:
        raise ToolFailedError(f"There is no order {number}.")
    return ToolOutput(_line(order), _fields(order))


async def find_orders(arguments: Arguments, context: CallContext) -> ToolOutput:
    """The orders of a customer."""
    customer: str = arguments["customer"]
    if not customer.strip():
        raise ToolFailedError("`customer` is empty; list_all_orders gives every order.")
    store = _store()
    orders = await asyncio.to_thread(store.find, customer)
    if not orders:
        known = sorted({order.customer for order in await asyncio.to_thread(store.all)})
        return ToolOutput(
            f"No orders of a customer called “{customer}”. Customers: {', '.join(known)}.", {"orders": []}
        )
    return _listed(orders)


async def revenue_summary(arguments: Arguments, context: CallContext) -> ToolOutput:
    """Sums by customer and status."""
    revenue = await asyncio.to_thread(_store().revenue)
    total = f"{_money(revenue.cents)} from {counted(revenue.orders, 'order')}"
    lines = [f"Total revenue: {total}, cancelled ones left out.", ""]
    lines += [f"{name}: {_money(cents)} ({counted(count, 'order')})" for name, count, cents in revenue.by_customer]
    lines += ["", "By status: " + ", ".join(f"{count} {name} ({_money(c)})" for name, count, c in revenue.by_status)]
    data = {
        "total_revenue": _dollars(revenue.cents),
        "currency": "USD",
        "orders": revenue.orders,
        "by_customer": [_group("customer", *row) for row in revenue.by_customer],
        "by_status": [_group("status", *row) for row in revenue.by_status],
    }
    return ToolOutput("\n".join(lines), data)


async def update_order_status(arguments: Arguments, context: CallContext) -> ToolOutput:
    """Changes the status of one order."""
    number: int = arguments["order_number"]
    changed = await asyncio.to_thread(_store().set_status, number, arguments["new_status"])
    if changed is None:
        raise ToolFailedError(f"There is no order {number}; nothing was changed.")
    before, order = changed
    return ToolOutput(f"Order {number}: {before} → {order.status}.", _fields(order) | {"previous_status": before})


def _listed(orders: Sequence[Order]) -> ToolOutput:
    counted = sum(order.total_cents for order in orders if order.status != "cancelled")
    closing = f"{len(orders)} orders, {_money(counted)} without cancelled ones."
    return ToolOutput("\n".join((*map(_line, orders), closing)), {"orders": [_fields(order) for order in orders]})


def _line(order: Order) -> str:
    what = f"{order.quantity} × {order.product}"
    total = _money(order.total_cents)
    return f"{order.order_number} · {order.ordered_on} · {order.customer} · {what} · {total} · {order.status}"


def _fields(order: Order) -> dict[str, Any]:
    return {
        "order_number": order.order_number,
        "customer": order.customer,
        "product": order.product,
        "quantity": order.quantity,
        "unit_price": _dollars(order.unit_cents),
        "total": _dollars(order.total_cents),
        "status": order.status,
        "ordered_on": order.ordered_on,
    }


def _group(key: str, name: str, count: int, cents: int) -> dict[str, Any]:
    return {key: name, "orders": count, "total": _dollars(cents)}


def _dollars(cents: int) -> float:
    return round(cents / 100, 2)


def _money(cents: int) -> str:
    return f"${cents // 100:,}.{cents % 100:02}"


_READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
_NUMBER = {"type": "integer", "description": "The number of the order, for example 1001."}
_TEXT, _COUNT, _AMOUNT = {"type": "string"}, {"type": "integer"}, {"type": "number", "description": "US dollars."}
_ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order_number": _COUNT,
        "customer": _TEXT,
        "product": _TEXT,
        "quantity": _COUNT,
        "unit_price": _AMOUNT,
        "total": _AMOUNT,
        "status": {"type": "string", "enum": list(STATUSES)},
        "ordered_on": {"type": "string", "description": "The day, as 2026-01-31."},
    },
    "required": ["order_number", "customer", "product", "quantity", "unit_price", "total", "status", "ordered_on"],
}
_ORDERS: dict[str, Any] = {
    "type": "object",
    "properties": {"orders": {"type": "array", "items": _ORDER}},
    "required": ["orders"],
}
_GROUPS: dict[str, Any] = {
    "type": "array",
    "items": {"type": "object", "properties": {"orders": _COUNT, "total": _AMOUNT}, "required": ["orders", "total"]},
}
_REVENUE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "total_revenue": _AMOUNT,
        "currency": _TEXT,
        "orders": _COUNT,
        "by_customer": _GROUPS,
        "by_status": _GROUPS,
    },
    "required": ["total_revenue", "currency", "orders", "by_customer", "by_status"],
}

TOOLS = (
    Tool("list_all_orders", "Lists every order.", list_all_orders, {}, (), {"title": "All orders", **_READS}, _ORDERS),
    Tool(
        "get_order",
        "Looks one order up by its number.",
        get_order,
        {"order_number": _NUMBER},
        ("order_number",),
        {"title": "One order", **_READS},
        _ORDER,
    ),
    Tool(
        "find_orders",
        "Finds the orders of a customer by name, or by a part of it; capitals don't matter.",
        find_orders,
        {"customer": {"type": "string", "description": "The customer's name, for example Acme Corp."}},
        ("customer",),
        {"title": "Orders of a customer", **_READS},
        _ORDERS,
    ),
    Tool(
        "revenue_summary",
        "Sums the revenue up: in all, by customer and by status. Cancelled orders don't count as revenue.",
        revenue_summary,
        {},
        (),
        {"title": "Revenue", **_READS},
        _REVENUE,
    ),
    Tool(
        "update_order_status",
        "Changes the status of one order; says what it was before.",
        update_order_status,
        {
            "order_number": _NUMBER,
            "new_status": {"type": "string", "enum": list(STATUSES), "description": "The new status."},
        },
        ("order_number", "new_status"),
        {
            "title": "Change an order's status",
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": True,
            "openWorldHint": False,
        },
        {**_ORDER, "properties": {**_ORDER["properties"], "previous_status": _TEXT}},
    ),
)


def main() -> None:
    """Serves the tools over stdin and stdout until stdin ends."""
    StdioServer("fanout-order-database", TOOLS).run()


if __name__ == "__main__":
    main()
