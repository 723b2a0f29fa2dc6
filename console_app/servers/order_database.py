"""A server with a small order database to try things on. Run it as `python -m console_app.servers.order_database`.

The orders are made up; their file lies in the folder that FANOUT_ORDERS names, else in this user's data folder.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from console_app.servers.parts.server import (
    Arguments,
    CallContext,
    StdioServer,
    Tool,
    ToolFailedError,
    ToolOutput,
    counted,
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


@dataclass(frozen=True, slots=True)
class Order:
    """One order; money in cents of a US dollar."""

    order_number: int
    customer: str
    product: str
    quantity: int
    unit_cents: int
    status: str
    ordered_on: str

    @property
    def total_cents(self) -> int:
        """The price of the whole order, in cents."""
        return self.quantity * self.unit_cents


@dataclass(frozen=True, slots=True)
class Revenue:
    """Sums over groups of orders: how many, and their cents. Cancelled orders count in `by_status` alone."""

    orders: int
    cents: int
    by_customer: tuple[tuple[str, int, int], ...]
    by_status: tuple[tuple[str, int, int], ...]


def data_file() -> Path:
    """Return the file: in the folder that FANOUT_ORDERS names, else in Fanout's data folder of this user."""
    if named := os.environ.get(FOLDER_VARIABLE):
        folder = Path(named).expanduser().absolute()
    elif home := os.environ.get("FANOUT_HOME"):
        folder = Path(home).expanduser().absolute() / "data" / "order_database"
    else:
        import platformdirs  # 10 ms

        folder = platformdirs.user_data_path("fanout", appauthor=False) / "order_database"
    return folder / "orders.db"


class OrderStore:
    """The orders in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> list[Order]:
        """Return every order, by number."""
        return self._select("")

    def get(self, order_number: int) -> Order | None:
        """Return the order with this number."""
        found = self._select("WHERE order_number = ?", order_number)
        return found[0] if found else None

    def find(self, customer: str) -> list[Order]:
        """Return the orders of every customer whose name holds `customer`, whatever the capitals."""
        wanted = " ".join(customer.split()).casefold()
        return [order for order in self.all() if wanted in order.customer.casefold()]

    def set_status(self, order_number: int, status: str) -> tuple[str, Order] | None:
        """Change one order; what its status was, and the order as it is now. None when there is no such order."""
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            row = connection.execute("SELECT status FROM orders WHERE order_number = ?", (order_number,)).fetchone()
            if row is None:
                return None
            connection.execute("UPDATE orders SET status = ? WHERE order_number = ?", (status, order_number))
            connection.commit()
        order = self.get(order_number)
        return (row[0], order) if order else None

    def revenue(self) -> Revenue:
        """Return the sums over all orders."""
        groups = "SELECT {0}, count(*), sum(quantity * unit_cents) AS cents FROM orders {1} GROUP BY {0}"
        with self._open() as connection:
            customers = connection.execute(
                groups.format("customer", "WHERE status <> 'cancelled'") + " ORDER BY cents DESC, customer"
            ).fetchall()
            statuses = {row[0]: row for row in connection.execute(groups.format("status", ""))}
        return Revenue(
            sum(row[1] for row in customers),
            sum(row[2] for row in customers),
            tuple(customers),
            tuple(statuses[status] for status in STATUSES if status in statuses),
        )

    def _select(self, where: str, *values: object) -> list[Order]:
        with self._open() as connection:
            rows = connection.execute(f"SELECT * FROM orders {where} ORDER BY order_number", values)
            return [Order(*row) for row in rows]

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        """Return a connection to the file, made and filled where it is new. Raises ToolFailedError."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
                _fill_if_new(connection)
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise ToolFailedError(
                f"The order database {self._path} can't be used: {error}. Removing it gives a new one."
            ) from error


def _fill_if_new(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA user_version").fetchone()[0]:
        return
    connection.execute("BEGIN IMMEDIATE")  # of two servers that start at once, one fills it
    if not connection.execute("PRAGMA user_version").fetchone()[0]:
        connection.execute(_SCHEMA)
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)", _SAMPLES)
        connection.execute("PRAGMA user_version = 1")
    connection.execute("COMMIT")


def _store() -> OrderStore:
    return OrderStore(data_file())


async def list_all_orders(arguments: Arguments, context: CallContext) -> ToolOutput:
    """Return every order."""
    return _listed(await asyncio.to_thread(_store().all))


async def get_order(arguments: Arguments, context: CallContext) -> ToolOutput:
    """Return one order."""
    number: int = arguments["order_number"]
    order = await asyncio.to_thread(_store().get, number)
    if order is None:
        raise ToolFailedError(f"There is no order {number}.")
    return ToolOutput(_line(order), _fields(order))


async def find_orders(arguments: Arguments, context: CallContext) -> ToolOutput:
    """Return the orders of a customer."""
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
    """Sum by customer and status."""
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
    """Change the status of one order."""
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
    """Serve the tools over stdin and stdout until stdin ends."""
    StdioServer("fanout-order-database", TOOLS).run()


if __name__ == "__main__":
    main()
