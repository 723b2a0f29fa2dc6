"""A server with a small order database to try things on. Run it as `python -m console_app.servers.order_database`.

The orders are made up; their file lies in the folder that FANOUT_ORDERS names, else in this user's data folder.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from console_app.servers.parts.folders import data_folder
from console_app.servers.parts.server import (
    READS,
    Arguments,
    CallContext,
    StdioServer,
    Tool,
    ToolFailedError,
    ToolOutput,
    counted,
    schema,
)

STATUSES: Final = ("pending", "processing", "shipped", "delivered", "cancelled")
FOLDER_VARIABLE: Final = "FANOUT_ORDERS"
_BUSY_SECONDS: Final = 5.0  # to wait for another server on the same file
_SCHEMA: Final = f"""
CREATE TABLE orders (
    order_number INTEGER PRIMARY KEY,
    customer TEXT NOT NULL,
    product TEXT NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    unit_cents INTEGER NOT NULL CHECK (unit_cents >= 0),
    status TEXT NOT NULL CHECK (status IN ({", ".join(f"'{status}'" for status in STATUSES)})),
    ordered_on TEXT NOT NULL
)
"""
_SAMPLES: Final = (
    (1001, "Acme Corp", "Rocket skates", 12, 9_900, "delivered", "2026-01-12"),
    (1002, "Globex", "Weather station", 2, 124_950, "delivered", "2026-01-19"),
    (1003, "Initech", "Label printer", 5, 18_900, "shipped", "2026-02-03"),
    (1004, "Acme Corp", "Portable hole", 3, 45_000, "shipped", "2026-02-10"),
    (1005, "Umbrella Ltd", "Lab freezer", 1, 389_000, "cancelled", "2026-02-11"),
    (1006, "Stark Industries", "Arc welder", 4, 72_500, "processing", "2026-02-24"),
    (1007, "Acme Corp", "Giant magnet", 1, 219_999, "processing", "2026-03-02"),
    (1008, "Wayne Enterprises", "Night-vision scope", 6, 54_900, "delivered", "2026-03-05"),
    (1009, "Globex", "Solar panel", 20, 21_050, "pending", "2026-03-09"),
    (1010, "Hooli", "Server rack", 2, 149_900, "pending", "2026-03-15"),
    (1011, "Initech", "Red stapler", 40, 1_295, "delivered", "2026-03-16"),
    (1012, "Acme Corp", "Bird seed, 25 kg", 8, 3_450, "cancelled", "2026-03-20"),
)
_NUMBER = schema("integer", "The number of the order, for example 1001.")
_TEXT, _COUNT, _AMOUNT = schema("string"), schema("integer"), schema("number", "US dollars.")


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_ORDER = _object(
    order_number=_COUNT,
    customer=_TEXT,
    product=_TEXT,
    quantity=_COUNT,
    unit_price=_AMOUNT,
    total=_AMOUNT,
    status=schema("string", enum=list(STATUSES)),
    ordered_on=schema("string", "The day, as 2026-01-31."),
)
_ORDERS = _object(orders=schema("array", items=_ORDER))
_GROUPS = schema("array", items=_object(orders=_COUNT, total=_AMOUNT))
_REVENUE = _object(total_revenue=_AMOUNT, currency=_TEXT, orders=_COUNT, by_customer=_GROUPS, by_status=_GROUPS)
Order = dict[str, Any]
"""A row, as results have it."""
_ROWS: Final = """
SELECT order_number, customer, product, quantity, unit_cents / 100.0 AS unit_price,
    quantity * unit_cents / 100.0 AS total, status, ordered_on
FROM orders ORDER BY order_number
"""


@contextmanager
def _opened() -> Generator[sqlite3.Connection]:
    """Return a connection to the file, made and filled where it is new. Raises ToolFailedError."""
    named = os.environ.get(FOLDER_VARIABLE)
    path = (Path(named).expanduser().absolute() if named else data_folder() / "order_database") / "orders.db"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
            if not connection.execute("PRAGMA user_version").fetchone()[0]:
                connection.execute("BEGIN IMMEDIATE")  # of two servers that start at once, one fills it
                if not connection.execute("PRAGMA user_version").fetchone()[0]:
                    connection.execute(_SCHEMA)
                    connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)", _SAMPLES)
                    connection.execute("PRAGMA user_version = 1")
                connection.execute("COMMIT")
            yield connection
    except (sqlite3.Error, OSError) as error:
        raise ToolFailedError(
            f"The order database {path} can't be used: {error}. Removing it gives a new one."
        ) from error


def _orders() -> list[Order]:
    with _opened() as connection:
        rows = connection.execute(_ROWS)
        names = [column[0] for column in rows.description]
        return [dict(zip(names, row, strict=True)) for row in rows]


def _set_status(number: int, status: str) -> str | None:
    """Change an order, and return what its status was; None when there is no such order."""
    with _opened() as connection:
        connection.execute("BEGIN IMMEDIATE")
        row = connection.execute("SELECT status FROM orders WHERE order_number = ?", (number,)).fetchone()
        if row is None:
            return None
        connection.execute("UPDATE orders SET status = ? WHERE order_number = ?", (status, number))
        connection.commit()
        return row[0]


def _groups(orders: Sequence[Order], key: str) -> list[Order]:
    """Return how many orders have each value of a column, and their sum; the largest first."""
    groups: dict[str, Order] = {}
    for one in orders:
        group = groups.setdefault(one[key], {key: one[key], "orders": 0, "total": 0.0})
        group |= {"orders": group["orders"] + 1, "total": round(group["total"] + one["total"], 2)}
    return sorted(groups.values(), key=lambda group: (-group["total"], group[key]))


async def list_all_orders(arguments: Arguments, context: CallContext) -> ToolOutput:
    return _listed(await asyncio.to_thread(_orders))


async def get_order(arguments: Arguments, context: CallContext) -> ToolOutput:
    return ToolOutput(_line(found := await _order(arguments["order_number"])), found)


async def find_orders(arguments: Arguments, context: CallContext) -> ToolOutput:
    customer: str = arguments["customer"]
    if not customer.strip():
        raise ToolFailedError("`customer` is empty; list_all_orders gives every order.")
    orders = await asyncio.to_thread(_orders)
    wanted = " ".join(customer.split()).casefold()
    if found := [order for order in orders if wanted in order["customer"].casefold()]:
        return _listed(found)
    known = ", ".join(sorted({order["customer"] for order in orders}))
    return ToolOutput(f"No orders of a customer called “{customer}”. Customers: {known}.", {"orders": []})


async def revenue_summary(arguments: Arguments, context: CallContext) -> ToolOutput:
    orders = await asyncio.to_thread(_orders)
    kept = [order for order in orders if order["status"] != "cancelled"]
    customers, statuses = _groups(kept, "customer"), _groups(orders, "status")
    statuses.sort(key=lambda group: STATUSES.index(group["status"]))
    lines = [f"Total revenue: {_sum(kept)} from {counted(len(kept), 'order')}, cancelled ones left out.", ""]
    lines += [f"{one['customer']}: {_sum([one])} ({counted(one['orders'], 'order')})" for one in customers]
    lines += ["", "By status: " + ", ".join(f"{one['orders']} {one['status']} ({_sum([one])})" for one in statuses)]
    total = round(sum(order["total"] for order in kept), 2)
    data = {"total_revenue": total, "currency": "USD", "orders": len(kept)}
    return ToolOutput("\n".join(lines), {**data, "by_customer": customers, "by_status": statuses})


async def update_order_status(arguments: Arguments, context: CallContext) -> ToolOutput:
    number: int = arguments["order_number"]
    before = await asyncio.to_thread(_set_status, number, arguments["new_status"])
    if before is None:
        raise ToolFailedError(f"There is no order {number}; nothing was changed.")
    order = await _order(number)
    return ToolOutput(f"Order {number}: {before} → {order['status']}.", order | {"previous_status": before})


async def _order(number: int) -> Order:
    found = [order for order in await asyncio.to_thread(_orders) if order["order_number"] == number]
    if not found:
        raise ToolFailedError(f"There is no order {number}.")
    return found[0]


def _listed(orders: Sequence[Order]) -> ToolOutput:
    kept = [order for order in orders if order["status"] != "cancelled"]
    closing = f"{len(orders)} orders, {_sum(kept)} without cancelled ones."
    return ToolOutput("\n".join((*map(_line, orders), closing)), {"orders": orders})


def _line(order: Order) -> str:
    what = f"{order['quantity']} × {order['product']}"
    who = f"{order['order_number']} · {order['ordered_on']} · {order['customer']}"
    return f"{who} · {what} · {_sum([order])} · {order['status']}"


def _sum(rows: Sequence[Order]) -> str:
    return f"${sum(row['total'] for row in rows):,.2f}"


TOOLS = (
    Tool(list_all_orders, "Lists every order.", {}, {"title": "All orders", **READS}, _ORDERS),
    Tool(
        get_order,
        "Looks one order up by its number.",
        {"order_number": _NUMBER},
        {"title": "One order", **READS},
        _ORDER,
    ),
    Tool(
        find_orders,
        "Finds the orders of a customer by name, or by a part of it; capitals don't matter.",
        {"customer": schema("string", "The customer's name, for example Acme Corp.")},
        {"title": "Orders of a customer", **READS},
        _ORDERS,
    ),
    Tool(
        revenue_summary,
        "Sums the revenue up: in all, by customer and by status. Cancelled orders don't count as revenue.",
        {},
        {"title": "Revenue", **READS},
        _REVENUE,
    ),
    Tool(
        update_order_status,
        "Changes the status of one order; says what it was before.",
        {"order_number": _NUMBER, "new_status": schema("string", "The new status.", enum=list(STATUSES))},
        {"title": "Change an order's status", **READS, "readOnlyHint": False, "destructiveHint": True},
        {**_ORDER, "properties": {**_ORDER["properties"], "previous_status": _TEXT}},
    ),
)


if __name__ == "__main__":
    StdioServer("fanout-order-database", TOOLS).run()
