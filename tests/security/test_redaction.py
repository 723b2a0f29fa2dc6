"""A known secret is found in every form and however it was cut; all other text stays."""

from __future__ import annotations

import base64
import json
import logging
import time
from html import escape
from pathlib import Path
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.config.machine import log_to
from console_app.config.secrets import RedactedStream, Redactor, UserCredentials
from console_app.config.servers import ServerConfig
from console_app.mcp_client.connecting.server_log import ServerLog
from tests.each import each

SECRET = "pä\"ss/w+rd?\\ <&'7%"
# White space around one is no part of it.
secrets_of_any_kind = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=8, max_size=40).filter(
    lambda secret: secret == secret.strip()
)


def left(text: str, secret: str) -> bool:
    """Tell whether the longest half of a secret still stands in `text`."""
    return secret[: len(secret) // 2] in text or secret[len(secret) // 2 :] in text


@each(
    "written",
    [
        SECRET,
        quote(SECRET, safe=""),
        quote(SECRET).lower(),
        quote_plus(SECRET),
        urlencode({"token": SECRET}),
        json.dumps({"a": SECRET}),
        json.dumps({"a": SECRET}, ensure_ascii=False),
        json.dumps({"a": json.dumps({"b": SECRET})}),
        json.dumps(SECRET).replace("/", "\\/"),
        repr(SECRET),
        escape(SECRET),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
    ],
)
def test_every_form_of_a_secret_is_hidden(written: str) -> None:
    cleaned = Redactor([SECRET]).clean(f"before {written} after")
    assert Redactor.HIDDEN in cleaned
    assert "w+rd" not in cleaned
    assert "772b7264" not in cleaned.lower()
    assert cleaned.startswith("before ")
    assert cleaned.endswith(" after")


@given(secrets_of_any_kind, st.binary(max_size=7), st.binary(max_size=7), st.booleans())
def test_base64_hides_it_wherever_it_begins(secret: str, before: bytes, after: bytes, url_safe: bool) -> None:
    encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
    whole = encode(before + secret.encode() + after).decode()
    cleaned = Redactor([secret]).clean(f"[{whole}]")
    assert Redactor.HIDDEN in cleaned
    # At either end a character may hold bits of two bytes: no whole byte of the secret is to be had from what is left.
    assert len(cleaned) - len(Redactor.HIDDEN) - 2 <= len(whole) - (len(secret.encode()) * 8 // 6 - 2)


@given(st.lists(secrets_of_any_kind, min_size=1, max_size=4), st.data())
def test_a_stream_hides_it_however_it_was_cut(secrets: list[str], data: st.DataObject) -> None:
    text = "\n".join(f"line {number}: {secret} {quote(secret)}" for number, secret in enumerate(secrets)).encode()
    places = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    redactor = Redactor(secrets)
    stream = RedactedStream(redactor)
    pieces = [text[begin:end] for begin, end in zip([0, *places], [*places, len(text)], strict=True)]
    cleaned = "".join(map(stream.feed, pieces)) + stream.flush()
    assert cleaned == redactor.clean(text.decode())
    assert not any(secret in cleaned for secret in secrets)


@each("cut", range(1, 20))
def test_a_line_without_an_end_is_cut_beside_a_secret(cut: int) -> None:
    stream = RedactedStream(Redactor(["canary-in-a-long-line"]))
    first = b"x" * 20_000 + b"canary-in-a-long-line"[:cut]
    text = stream.feed(first)
    assert len(text) >= 20_000
    assert "can" not in text + stream.rest
    text += stream.feed(b"canary-in-a-long-line"[cut:] + b" and on\n")
    assert text.endswith(f"{Redactor.HIDDEN} and on\n")


def test_bytes_that_are_no_text_stay_what_they_were() -> None:
    stream = RedactedStream(Redactor(["canary-one"]))
    out = stream.feed(b"\xff\xfe canary-one \xc3") + stream.feed(b"\xa4\n")
    assert out.encode("utf-8", "surrogateescape") == b"\xff\xfe (hidden) \xc3\xa4\n"


@each("value", ["", "x", "12345", "true", "production", "localhost", "/tmp", "/usr/bin", "~", "a\0b"])
def test_what_is_too_short_or_too_common_is_no_secret(value: str) -> None:
    text = f"level={value} /tmp/a true production localhost 12345"
    assert Redactor([value]).clean(text) == text


def test_a_certificate_of_many_lines_is_hidden_line_by_line() -> None:
    body = [base64.b64encode(bytes([n]) * 48).decode() for n in range(60)]
    key = "\n".join(["-----BEGIN KEY-----", *body, "-----END KEY-----"])
    redactor = Redactor([key])
    assert redactor.clean(f"a {key} b") == f"a {Redactor.HIDDEN} b"
    assert body[7] not in redactor.clean(f"10:00 line: {body[7]}\n")
    assert body[7] not in redactor.clean(json.dumps({"key": key}))


def test_a_server_of_mcp_json_says_what_is_secret_of_it() -> None:
    config = ServerConfig(
        name="s",
        url="https://user-canary:pass-canary@host.test/mcp?token=query%20canary&mode=fast",
        headers={"Authorization": f"Basic {base64.b64encode(b'me:basic-canary').decode()}", "X-Any": "header-canary"},
        auth={"type": "oauth", "client_secret": "client-canary", "client_id": "public-id"},
        transport="http",
    )
    redactor = Redactor(config.secrets())
    for canary in (
        "user-canary",
        "pass-canary",
        "query canary",
        "query%20canary",
        "basic-canary",
        "header-canary",
        "client-canary",
    ):
        assert redactor.clean(f"<{canary}>") == f"<{Redactor.HIDDEN}>", canary
    assert redactor.clean("public-id host.test") == "public-id host.test"
    program = ServerConfig(
        name="p",
        command="x",
        args=("--api-key", "flag-canary", "--token=eq-canary", "plain-word"),
        env={"ANY": "env-canary"},
    )
    redactor, hidden = Redactor(program.secrets()), Redactor.HIDDEN
    cleaned = redactor.clean("flag-canary eq-canary env-canary plain-word")
    assert cleaned == f"{hidden} {hidden} {hidden} plain-word"


def test_what_a_server_talks_about_is_not_hidden_from_the_model() -> None:
    env = {
        "PROJECT": "my-project",
        "ROOT": "/srv/none/such",
        "GITHUB_TOKEN": "token-canary",
        "ANY": "a1b2c3d4e5f6a7b8c9",
    }
    config = ServerConfig(name="p", command="x", env=env)
    redactor = Redactor(config.secrets(sure=True))
    text = "my-project in /srv/none/such"
    assert redactor.without_known_in({"a": [text, 5], "token-canary": "a1b2c3d4e5f6a7b8c9"}) == {
        "a": [text, 5],
        Redactor.HIDDEN: Redactor.HIDDEN,
    }


def test_a_secret_in_a_tuple_of_json_is_hidden_too() -> None:
    redactor = Redactor(["a1b2c3d4e5f6a7b8c9"])
    assert redactor.without_known_in({"a": [("x", {"b": "a1b2c3d4e5f6a7b8c9"})]}) == {"a": [["x", {"b": "(hidden)"}]]}


def test_a_token_that_was_read_or_kept_is_known(tmp_path: Path) -> None:
    redactor = Redactor()
    file = tmp_path / "c.json"
    UserCredentials(file, redactor).write(
        "mcp a",
        json.dumps({"tokens": {"access_token": "kept-canary"}, "metadata": {"token_endpoint": "https://a.test/t"}}),
    )
    assert redactor.clean("kept-canary https://a.test/t") == f"{Redactor.HIDDEN} https://a.test/t"
    again = Redactor()
    assert UserCredentials(file, again).read("mcp a")
    assert again.clean("kept-canary") == Redactor.HIDDEN


def test_the_log_and_the_last_words_know_what_was_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        redactor = Redactor()
        log_to(tmp_path / "fanout.log", redactor=redactor)
        redactor.add("late-canary")
        assert Redactor.in_use({}) is redactor
        logging.getLogger("x").warning("%s", {"a": "late-canary"}, stack_info=True)
        root.handlers[0].flush()
        assert "late-canary" not in (tmp_path / "fanout.log").read_text()
        assert Redactor.HIDDEN in (tmp_path / "fanout.log").read_text()
    finally:
        for handler in root.handlers[:]:
            if handler not in before:
                root.removeHandler(handler)
                handler.close()
        root.handlers[:] = before
        root.setLevel(level)
        logging.captureWarnings(False)
        logging.raiseExceptions = True
    monkeypatch.setattr(root, "handlers", [])
    assert Redactor.in_use({"A_TOKEN": "other-canary"}).clean("other-canary") == Redactor.HIDDEN


def test_a_server_log_hides_a_secret_that_came_in_two_pieces(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "servers", "s", Redactor(["split-canary-value"]))
    log.write(b"starting with split-can")
    assert log.lines == ["starting with "]
    log.write(b"ary-value\nsplit-canary-value")
    assert log.lines == [f"starting with {Redactor.HIDDEN}", Redactor.HIDDEN]
    log.flush()
    log.close()
    kept = [line.partition(" | ")[2] for line in log.path.read_text().splitlines()]
    assert kept == [f"starting with {Redactor.HIDDEN}", Redactor.HIDDEN]


def test_cleaning_costs_what_the_text_costs_whatever_is_known() -> None:
    def seconds(redactor: Redactor) -> float:
        times: list[float] = []
        for _ in range(3):
            began = time.process_time()
            redactor.clean(text)
            times.append(time.process_time() - began)
        return min(times)

    text = "2026-11-22 10:00:00 INFO something happened at c/canary-0/x.py with 200 bytes\n" * 20_000  # 1.6 MB
    few = Redactor(["canary-00-00000000"])
    many = Redactor(f"canary-{number:02}-{number * 7919:08x}" for number in range(60))
    assert many.clean("canary-07-0000d889") == Redactor.HIDDEN
    assert few.clean(text) == many.clean(text) == text
    assert seconds(many) < 20 * seconds(few) + 0.05
