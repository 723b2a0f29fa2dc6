"""The order database: what it looks up and sums, as text and as data, and the one thing that it changes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from console_app.domain.tools import Outcome
from tests.mcp_client.conftest import Bench
from tests.servers.conftest import Serve


@pytest.fixture
async def orders(serve: Serve, tmp_path: Path) -> Bench:
    """The server on a new database."""
    return await serve("order_database", FANOUT_ORDERS=str(tmp_path / "orders"))


async def test_orders_of_a_customer_come_as_text_and_as_data(orders: Bench) -> None:
    result = await orders.call("find_orders", customer="acme corp")
    lines = result.content.splitlines()
    assert lines[0] == "1001 · 2026-01-12 · Acme Corp · 12 × Rocket skates · $1,188.00 · delivered"
    assert lines[-1] == "4 orders, $4,737.99 without cancelled ones."
    assert result.structured is not None
    assert [order["order_number"] for order in result.structured["orders"]] == [1001, 1004, 1007, 1012]
    assert {order["customer"] for order in result.structured["orders"]} == {"Acme Corp"}
    everything = await orders.call("list_all_orders")
    assert everything.structured is not None
    assert len(everything.structured["orders"]) == 12


async def test_a_customer_nobody_knows_has_no_orders_and_the_known_ones_are_named(orders: Bench) -> None:
    result = await orders.call("find_orders", customer="100%'; DROP TABLE orders; --")
    assert result.outcome is Outcome.SUCCEEDED
    assert "Customers: Acme Corp, Globex" in result.content
    assert result.structured == {"orders": []}
    assert "is empty" in (await orders.call("find_orders", customer=" ")).content


async def test_revenue_leaves_cancelled_orders_out_and_adds_up(orders: Bench) -> None:
    summary = (await orders.call("revenue_summary")).structured
    everything = (await orders.call("list_all_orders")).structured
    assert summary is not None
    assert everything is not None
    counted = [order for order in everything["orders"] if order["status"] != "cancelled"]
    assert summary["orders"] == len(counted)
    assert summary["total_revenue"] == pytest.approx(sum(order["total"] for order in counted))
    assert summary["total_revenue"] == pytest.approx(sum(group["total"] for group in summary["by_customer"]))
    assert summary["by_status"][-1] == {"status": "cancelled", "orders": 2, "total": 4166.0}


async def test_a_new_status_is_kept_and_an_unknown_one_refused(orders: Bench) -> None:
    result = await orders.call("update_order_status", order_number=1009, new_status="shipped")
    assert result.content == "Order 1009: pending → shipped."
    assert (await orders.call("get_order", order_number=1009)).content.endswith("· shipped")
    result = await orders.call("update_order_status", order_number=1009, new_status="lost")
    assert result.outcome is Outcome.FAILED
    assert "pending, processing, shipped, delivered, cancelled" in result.content
    assert (await orders.call("update_order_status", order_number=7, new_status="shipped")).outcome is Outcome.FAILED
    assert (await orders.call("get_order", order_number=7)).content.endswith("There is no order 7.")


async def test_only_the_tool_that_changes_something_says_so(orders: Bench) -> None:
    hints = {spec.tool: (spec.annotations.read_only, spec.annotations.destructive) for spec in orders.hub.tools()}
    changes = hints.pop("update_order_status")
    assert changes == (False, True)
    assert set(hints.values()) == {(True, False)}
    assert len(hints) == 4


async def test_calls_at_once_find_one_database_filled_once(orders: Bench) -> None:
    results = await asyncio.gather(*(orders.call("list_all_orders") for _ in range(10)))
    assert {result.content.splitlines()[-1] for result in results} == {"12 orders, $22,101.99 without cancelled ones."}


async def test_a_file_that_is_no_database_is_named(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "orders.db").write_text("not a database, but long enough to be looked at as one" * 20)
    bench = await serve("order_database", FANOUT_ORDERS=str(tmp_path))
    result = await bench.call("list_all_orders")
    assert result.outcome is Outcome.FAILED
    assert "orders.db can't be used: file is not a database" in result.content


async def test_the_database_lies_in_fanouts_own_folder_unless_one_is_named(serve: Serve, tmp_path: Path) -> None:
    bench = await serve("order_database", FANOUT_HOME=str(tmp_path / "home"))
    await bench.call("list_all_orders")
    assert (tmp_path / "home" / "data" / "order_database" / "orders.db").is_file()
