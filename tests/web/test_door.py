"""Who may come in: hosts, origins and tokens."""

from __future__ import annotations

import pytest

from console_app.domain.web_address import is_loopback_host
from console_app.web import origin_of
from console_app.web.door import Addresses, Door
from tests.each import each

LOCAL = Addresses.of("127.0.0.1", 8021, ())
EVERYWHERE = Addresses.of("0.0.0.0", 8021, ())
TUNNEL = Addresses.of("127.0.0.1", 8021, ("https://Fanout.example/",))


@each(
    ("addresses", "host", "known"),
    [
        (LOCAL, "127.0.0.1:8021", True),
        (LOCAL, "localhost:8021", False),
        (LOCAL, "[::1]:8021", True),
        (LOCAL, "", False),
        (LOCAL, "localhost", False),
        (LOCAL, "localhost:80", False),
        (LOCAL, "evil.example:8021", False),
        (LOCAL, "127.0.0.1.evil.example:8021", False),
        (LOCAL, "192.168.0.7:8021", False),
        (EVERYWHERE, "192.168.0.7:8021", True),
        (EVERYWHERE, "192.168.0.7:8022", False),
        (EVERYWHERE, "evil.example:8021", False),
        (EVERYWHERE, "user@192.168.0.7:80", False),
        (TUNNEL, "fanout.example", True),
        (TUNNEL, "127.0.0.1:8021", True),
        (TUNNEL, "other.example", False),
    ],
)
def test_a_host_is_one_that_the_server_goes_by(addresses: Addresses, host: str, known: bool) -> None:
    assert addresses.knows_host(host) is known


@each(
    ("addresses", "origin", "host", "known"),
    [
        (LOCAL, "http://127.0.0.1:8021", "127.0.0.1:8021", True),
        (LOCAL, "http://localhost:8021", "127.0.0.1:8021", False),
        (LOCAL, "http://localhost:8021", "localhost:8021", False),
        (LOCAL, "https://127.0.0.1:8021", "127.0.0.1:8021", False),
        (LOCAL, "http://evil.example", "127.0.0.1:8021", False),
        (LOCAL, "http://evil.example:8021", "evil.example:8021", False),
        (LOCAL, "null", "127.0.0.1:8021", False),
        (LOCAL, "", "", False),
        (EVERYWHERE, "http://10.0.0.2:8021", "10.0.0.2:8021", True),
        (EVERYWHERE, "http://evil.example:8021", "evil.example:8021", False),
        (TUNNEL, "https://fanout.example", "fanout.example", True),
        (TUNNEL, "http://fanout.example", "fanout.example", False),
    ],
)
def test_an_origin_is_a_page_of_the_very_host(addresses: Addresses, origin: str, host: str, known: bool) -> None:
    assert addresses.knows_origin(origin, host) is known


def test_a_token_that_was_made_opens_once() -> None:
    door = Door()
    assert len(door.token) >= 40
    assert door.redeem("") == "no"
    assert door.redeem(door.token) == "in"
    assert door.redeem(door.token) == "used"
    assert door.redeem("é") == "no"


def test_a_token_that_was_chosen_opens_for_each_device_whoever_else_guesses() -> None:
    door = Door("a-token-that-was-chosen")
    assert [door.redeem("wrong") for _ in range(1000)] == ["no"] * 1000
    assert [door.redeem(door.token) for _ in range(3)] == ["in"] * 3


def test_a_ticket_is_of_this_server_alone() -> None:
    door = Door()
    assert door.lets_in(door.ticket)
    assert [door.lets_in(other) for other in (Door().ticket, door.token, "", "é", "\ud800")] == [False] * 5


def test_what_reaches_this_machine_alone_is_known() -> None:
    assert [is_loopback_host(host) for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost")] == [True] * 4
    assert [is_loopback_host(host) for host in ("0.0.0.0", "::", "10.0.0.1", "localhost.evil.example")] == [False] * 4


@each("url", ["fanout.example", "ftp://a", "https://", "https://user:pw@a/", "javascript:alert(1)"])
def test_what_is_no_web_address_is_no_origin(url: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        origin_of(url)
