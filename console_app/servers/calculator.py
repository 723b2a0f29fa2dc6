"""A calculator server: one tool, `evaluate(expression)`. Run it as `python -m console_app.servers.calculator`."""

from __future__ import annotations

import sys

from console_app.servers.parts.expression import ExpressionError, evaluate
from console_app.servers.parts.server import Arguments, CallContext, StdioServer, Tool, ToolFailedError

DESCRIPTION = (
    "Evaluates one arithmetic expression and returns its value. `^` and `**` are powers, integers of any size are "
    "exact, `/` gives a decimal number, `//` and `%` are whole division and remainder. Constants: e, pi, tau. "
    "Functions: sqrt, cbrt, abs, round, floor, ceil, exp, ln, log (natural; log(x, base)), log2, log10, sin, cos, tan "
    "and their inverses (radians), degrees, radians, hypot, factorial, comb, perm, gcd, lcm, min, max, sum, mean."
)


async def calculate(arguments: Arguments, context: CallContext) -> str:
    """Return the value of `expression`, as Python writes it."""
    try:
        return repr(evaluate(arguments["expression"]))
    except ExpressionError as error:
        raise ToolFailedError(str(error)) from error


EVALUATE = Tool(
    "evaluate",
    DESCRIPTION,
    calculate,
    {"expression": {"type": "string", "description": "The expression, for example `355/113` or `sqrt(2)^3`."}},
    ("expression",),
    {
        "title": "Calculate",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    },
)


def main() -> None:
    """Serve the tool over stdin and stdout until stdin ends."""
    sys.set_int_max_str_digits(0)  # expression.py bounds the size of integers; the interpreter's limit is lower
    sys.setrecursionlimit(10_000)  # deep parentheses within the length allowed
    StdioServer("fanout-calculator", (EVALUATE,)).run()


if __name__ == "__main__":
    main()
