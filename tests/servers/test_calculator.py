"""The calculator: right, exact where it can be, and quick to refuse what would never end."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.config.servers import ServerConfig
from console_app.mcp_client.connecting.channel import launch
from console_app.servers.calculator import ExpressionError, evaluate
from tests.each import each
from tests.servers.stdio_client import StdioClient


@pytest.fixture
def calculator() -> Iterator[StdioClient]:
    with StdioClient("console_app.servers.calculator") as client:
        yield client


@each(
    ("expression", "value"),
    [
        ("355/113", "3.1415929203539825"),
        ("sqrt(2)", "1.4142135623730951"),
        ("e^pi", "23.140692632779267"),
        ("2^64", "18446744073709551616"),
        ("2**64", "18446744073709551616"),
        ("2^3^2", "512"),
        ("-2^2", "-4"),
        ("2^-1", "0.5"),
        ("7 // 2 + 7 % 3", "4"),
        ("4/2", "2.0"),
        ("factorial(25)", "15511210043330985984000000"),
        ("5! + 3!", "126"),
        ("comb(50, 25)", "126410606437752"),
        ("log(8, 2) + ln(e) + log10(1000)", "7.0"),
        ("2 × 3 − 1 ÷ 4", "5.75"),
        ("√16 + √(9) + 3²", "16.0"),
        ("π", "3.141592653589793"),
        ("max(1, 2.5, 2) - min(3, 4)", "-0.5"),
        ("pow(3, 200, 7)", "2"),
        ("round(tau, 3)", "6.283"),
        ("SQRT(4)", "2.0"),
        ("1 << 10 | 3 & 1", "1025"),
        ("+".join(["1"] * 1900), "1900"),
        ("-" * 400 + "1", "1"),
    ],
)
def test_expressions_have_their_value(expression: str, value: str) -> None:
    if expression == "e^pi":
        assert evaluate(expression) == pytest.approx(23.1406926327792, abs=1e-12)
    else:
        assert repr(evaluate(expression)) == value


@each(
    "bomb",
    [
        "9**9**9",
        "9^9^9^9",
        "factorial(10**9)",
        "factorial(factorial(20))",
        "1 << 10**9",
        "10**20000 * 10**20000",
        "(2^60000)^60000",
        "comb(10^6, 5*10^5)",
        "perm(10^9, 10^9)",
        "round(1, -10^9)",
        "pow(2, 10^9)",
        "pow(7^4000, 7^4000, 7^4000 + 1)",
        "lcm(2^60000, 3^60000)",
        "'a' * 10**9",
        "(" * 2000 + "1" + ")" * 1999,
        "1" * 5000,
    ],
)
def test_what_would_never_end_is_refused(bomb: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(bomb)


@each(
    ("expression", "reason"),
    [
        ("1/0", "Division by zero."),
        ("sqrt(-1)", "sqrt: the value is outside its domain."),
        ("(-8)^(1/3)", "The result is not a real number."),
        ("1,000 + 1", "A comma only separates arguments: write 1000 for one thousand."),
        ("50%", "write 50/100 for 50 percent"),
        ("2pi", "Write multiplication with `*`."),
        ("3(4)", "Write multiplication with `*`."),
        ("sqr(2)", "Unknown function `sqr`. Did you mean `sqrt`? Functions: sqrt, cbrt,"),
        ("x + 1", "Unknown name `x`. Constants: e, pi, tau. Functions: sqrt,"),
        ("sqrt", "`sqrt` is a function: write sqrt(x)."),
        ("sqrt(1, 2)", "sqrt: wrong number of arguments."),
        ("10.0^400", "too large for floating point"),
        ("10^400 / 3", "too large for floating point"),
        ("1e999", "The result is not a finite number."),
        ("", "The expression is empty."),
        ("__import__('os').system('true')", "Only numbers"),
        ("(1).__class__", "Only numbers"),
        ("[x for x in (1,)]", "Only numbers"),
        ("open('/etc/passwd')", "Only numbers"),
        ("(lambda: 1)()", "Only numbers"),
    ],
)
def test_what_has_no_value_says_why(expression: str, reason: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(expression)
    assert reason in str(caught.value)


@given(st.integers(), st.integers(), st.sampled_from("+-*"))
def test_whole_numbers_are_exact(left: int, right: int, sign: str) -> None:
    exact = {"+": left + right, "-": left - right, "*": left * right}[sign]
    assert evaluate(f"({left}) {sign} ({right})") == exact


@given(st.text(alphabet="0123456789+-*/^%().,!e πsqrt√²<>&|~", max_size=60) | st.text(max_size=60))
def test_any_text_has_a_finite_value_or_a_reason(text: str) -> None:
    with suppress(ExpressionError):
        value = evaluate(text)
        assert math.isfinite(value) if isinstance(value, float) else value.bit_length() <= 200_000


def test_the_server_lists_one_harmless_tool(calculator: StdioClient) -> None:
    (tool,) = calculator.request("tools/list")["tools"]
    assert tool["name"] == "evaluate"
    assert tool["inputSchema"]["required"] == ["expression"]
    assert tool["annotations"]["readOnlyHint"]
    assert tool["annotations"]["idempotentHint"]
    assert not tool["annotations"]["openWorldHint"]


def test_the_server_calculates_and_reports_failures_as_results(calculator: StdioClient) -> None:
    assert calculator.call("evaluate", expression="2^64") == ("18446744073709551616", False)
    assert calculator.call("evaluate", expression="2^20000")[0].startswith("39802768403379665923")
    assert calculator.call("evaluate", expression="1/0") == ("Division by zero.", True)
    assert calculator.call("evaluate") == ("evaluate: the argument `expression` is missing.", True)
    assert calculator.call("evaluate", expression=5)[1]
    assert calculator.call("evaluate", expression="1", more=2) == (
        "evaluate: unknown argument `more`; it takes: expression.",
        True,
    )


def test_the_server_answers_what_it_does_not_know_with_an_error(calculator: StdioClient) -> None:
    assert calculator.error("server/discover")["code"] == -32601
    assert calculator.error("tools/call", name="nope")["message"] == "Unknown tool: nope"
    calculator.write(b"this is not JSON\n")
    assert calculator.read()["error"]["code"] == -32700
    assert calculator.request("ping") == {}


def test_the_server_is_not_misled_by_files_of_the_working_folder(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')")
    config = ServerConfig(name="c", command="python", args=("-m", "console_app.servers.calculator"))
    program = launch(config)
    command, environment = program.command, dict(program.environment)
    with StdioClient("console_app.servers.calculator", command=command, env=environment, cwd=tmp_path) as client:
        assert client.call("evaluate", expression="1+1") == ("2", False)
