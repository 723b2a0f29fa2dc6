"""Orders in a SQLite file, filled with the same made-up ones wherever it is new. Each call opens it for itself."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from console_app.servers.tool import ToolFailedError

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
        """What the whole order costs."""
        return self.quantity * self.unit_cents


@dataclass(frozen=True, slots=True)
class Revenue:
    """Sums over groups of orders: how many, and their cents. Cancelled orders count in `by_status` alone."""

    orders: int
    cents: int
    by_customer: tuple[tuple[str, int, int], ...]
    by_status: tuple[tuple[str, int, int], ...]


def data_file() -> Path:
    """The file: in the folder that FANOUT_ORDERS names, else in Fanout's data folder of this user."""
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
        """Every order, by number."""
        return self._select("")

    def get(self, order_number: int) -> Order | None:
        """The order with this number."""
        found = self._select("WHERE order_number = ?", order_number)
        return found[0] if found else None

    def find(self, customer: str) -> list[Order]:
        """The orders of every customer whose name holds `customer`, whatever the capitals."""
        wanted = " ".join(customer.split()).casefold()
        return [order for order in self.all() if wanted in order.customer.casefold()]

    def set_status(self, order_number: int, status: str) -> tuple[str, Order] | None:
        """Changes one order; what its status was, and the order as it is now. None when there is no such order."""
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
        """The sums over all orders."""
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
        """A connection to the file, made and filled where it is new. Raises ToolFailedError."""
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
