"""A calculator server: one tool, `evaluate(expression)`. Run it as `python -m console_app.servers.calculator`.

An expression is parsed by Python's own parser and walked with a short list of what is allowed. Nothing is ever compiled
or run. What would take long or much memory (`9**9**9`) is refused before it is tried, by the size of its result.
"""

from __future__ import annotations

import ast
import math
import re
import sys
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Final

from console_app.servers.parts.server import READS, Arguments, CallContext, StdioServer, Tool, ToolFailedError, schema

DESCRIPTION = (
    "Evaluates one arithmetic expression and returns its value. `^` and `**` are powers, integers of any size are "
    "exact, `/` gives a decimal number, `//` and `%` are whole division and remainder. Constants: e, pi, tau. "
    "Functions: sqrt, cbrt, abs, round, floor, ceil, exp, ln, log (natural; log(x, base)), log2, log10, sin, cos, tan "
    "and their inverses (radians), degrees, radians, hypot, factorial, comb, perm, gcd, lcm, min, max, sum, mean."
)


async def calculate(arguments: Arguments, context: CallContext) -> str:
    try:
        return repr(evaluate(arguments["expression"]))
    except ExpressionError as error:
        raise ToolFailedError(str(error)) from error


EVALUATE = Tool(
    calculate,
    DESCRIPTION,
    {"expression": schema("string", "The expression, for example `355/113` or `sqrt(2)^3`.")},
    {"title": "Calculate", **READS},
    name="evaluate",
)


def main() -> None:
    sys.set_int_max_str_digits(0)  # `refuse_large` bounds the size of integers; the interpreter's limit is lower
    sys.setrecursionlimit(10_000)  # deep parentheses within the length allowed
    StdioServer("fanout-calculator", (EVALUATE,)).run()


Number = int | float

LARGEST_BITS: Final = 100_000  # of an integer: some 30,000 digits
LARGEST_FACTORIAL: Final = 8000
LARGEST_MODULAR_BITS: Final = 4096

CONSTANTS: Final[dict[str, Number]] = {"e": math.e, "pi": math.pi, "tau": math.tau}
LONGEST_EXPRESSION: Final = 4000  # characters
_SYMBOLS: Final = str.maketrans(
    {"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "π": "pi", "τ": "tau", "^": "**"} | {"²": "**2", "³": "**3"}
)
_ROOT: Final = re.compile(r"√\s*(?:(\d+(?:\.\d+)?|[A-Za-z_]\w*)(?!\w*\s*\()|(?=\())")
_FACTORIAL: Final = re.compile(r"(?<![\w.)])(\d+)!(?!=)")
_UNARY: Final[dict[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.UAdd: lambda value: value,
    ast.USub: lambda value: -value,
    ast.Invert: lambda value: ~value,
}


def refuse_large(bits: float) -> None:
    """Raise ValueError for an integer of more than `LARGEST_BITS` bits, before it is made."""
    if bits > LARGEST_BITS:
        digits = int(LARGEST_BITS * math.log10(2))
        raise ValueError(f"the result would have more than {digits:,} digits, which is refused")


def _whole(value: Number) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError("a whole number is needed")
    return int(value)


def _factorial(value: Number) -> int:
    number = _whole(value)
    if number < 0:
        raise ValueError("not defined for negative numbers")
    if number > LARGEST_FACTORIAL:
        raise ValueError(f"refused above {LARGEST_FACTORIAL}, its result would be too large")
    return math.factorial(number)


def _choices(count: Callable[[int, int], int], value: Number, chosen: Number) -> int:
    total, part = _whole(value), _whole(chosen)
    if total < 0 or part < 0:
        raise ValueError("not defined for negative numbers")
    smaller = min(part, max(total - part, 0)) if count is math.comb else min(part, total)
    refuse_large(smaller * total.bit_length())
    return count(total, part)


def _round(value: Number, digits: Number = 0) -> Number:
    places = _whole(digits)
    if abs(places) > 400:
        raise ValueError("round to at most 400 places")
    return round(value) if places == 0 else round(value, places)


def _power(base: Number, exponent: Number, modulus: Number | None = None) -> Number:
    if modulus is None:
        if isinstance(base, int) and isinstance(exponent, int) and exponent > 0 and abs(base) > 1:
            refuse_large(math.log2(abs(base)) * exponent)
        value: Any = base**exponent
        if isinstance(value, complex):
            raise ValueError("the result is not a real number")
        return value
    parts = _whole(base), _whole(exponent), _whole(modulus)
    if max(part.bit_length() for part in parts) > LARGEST_MODULAR_BITS:
        raise ValueError(f"with a modulus, numbers of at most {LARGEST_MODULAR_BITS} bits")
    return pow(*parts)


def _whole_numbers(combine: Callable[..., int]) -> Callable[..., int]:
    def combined(*values: Number) -> int:
        whole = [_whole(value) for value in values]
        if combine is math.lcm:
            refuse_large(sum(value.bit_length() for value in whole))
        return combine(*whole)

    return combined


def _list(combine: Callable[[tuple[Number, ...]], Number]) -> Callable[..., Number]:
    def combined(*values: Number) -> Number:
        if not values:
            raise ValueError("at least one number is needed")
        return combine(values)

    return combined


_NAMES: Final = (
    "sqrt cbrt isqrt abs sign round floor ceil trunc exp ln log log2 log10 sin cos tan asin acos atan atan2 "
    "sinh cosh tanh asinh acosh atanh degrees radians hypot factorial gamma comb perm gcd lcm pow mod xor min max sum "
    "mean"
)
_OF_ONE: Final[dict[str, Callable[[Any], Number]]] = {
    "isqrt": lambda value: math.isqrt(_whole(value)),
    "abs": abs,
    "sign": lambda value: (value > 0) - (value < 0),
    "ln": lambda value: math.log(value),
    "factorial": _factorial,
}
_OF_TWO: Final[dict[str, Callable[[Any, Any], Number]]] = {
    "comb": lambda total, chosen: _choices(math.comb, total, chosen),
    "perm": lambda total, chosen: _choices(math.perm, total, chosen),
    "mod": lambda value, divisor: value % divisor,
    "xor": lambda left, right: _whole(left) ^ _whole(right),
}
_OWN: Final[dict[str, Callable[..., Number]]] = {
    **_OF_ONE,
    **_OF_TWO,
    "round": _round,
    "gcd": _whole_numbers(math.gcd),
    "lcm": _whole_numbers(math.lcm),
    "pow": _power,
    "min": _list(min),
    "max": _list(max),
    "sum": _list(sum),
    "mean": _list(lambda values: sum(values) / len(values)),
}
FUNCTIONS: Final[dict[str, Callable[..., Number]]] = {
    name: _OWN.get(name) or getattr(math, name) for name in _NAMES.split()
}


class ExpressionError(ValueError):
    """The reason why an expression has no value: one sentence for whoever wrote it."""


def evaluate(expression: str) -> Number:
    """Return the value of `expression`: an int where it is exact, else a float. Raises ExpressionError."""
    try:
        value = _walk(_parse(expression))
    except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:
        raise error if isinstance(error, ExpressionError) else ExpressionError(_reason(error)) from error
    except (RecursionError, MemoryError) as error:
        raise ExpressionError("The expression is nested too deeply.") from error
    if isinstance(value, float) and not math.isfinite(value):
        raise ExpressionError("The result is not a finite number.")
    return value


def _parse(expression: str) -> ast.expr:
    if len(expression) > LONGEST_EXPRESSION:
        raise ExpressionError(f"The expression is longer than {LONGEST_EXPRESSION} characters.")
    text = _ROOT.sub(lambda m: f"sqrt({m[1]})" if m[1] else "sqrt", expression)
    text = _FACTORIAL.sub(r"factorial(\1)", text).translate(_SYMBOLS)
    text = " ".join(text.split())
    if not text:
        raise ExpressionError("The expression is empty.")
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError) as error:
        hint = " Write multiplication with `*`." if re.search(r"\d\s*[A-Za-z(]|\)\s*[\w(]", expression) else ""
        hint = " `%` is the remainder; write 50/100 for 50 percent." if "%" in expression else hint
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ExpressionError(f"Not an arithmetic expression: {message}.{hint}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, ZeroDivisionError):
        return "Division by zero."
    if isinstance(error, OverflowError):
        return "A number became too large for floating point; use integers to stay exact."
    text = str(error)
    if "domain error" in text:
        return "A function was asked for a value outside its domain."
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _multiply(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int):
        refuse_large(left.bit_length() + right.bit_length() - 1)
    return left * right


def _shift_left(left: Any, right: Any) -> int:
    if right > LARGEST_BITS:
        refuse_large(right)
    value: int = left << right
    refuse_large(value.bit_length())
    return value


_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: _multiply,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: lambda left, right: left % right,
    ast.Pow: _power,
    ast.LShift: _shift_left,
    ast.RShift: lambda left, right: left >> right,
    ast.BitAnd: lambda left, right: left & right,
    ast.BitOr: lambda left, right: left | right,
}


def _walk(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=bool() | None | str() | bytes() | complex()):
            raise ExpressionError("Only numbers can be calculated with.")
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            if (constant := CONSTANTS.get(name.lower())) is not None:
                return constant
            if name.lower() in FUNCTIONS:
                raise ExpressionError(f"`{name}` is a function: write {name}(x).")
            named = f"Constants: {', '.join(CONSTANTS)}."
            raise ExpressionError(f"Unknown name `{name}`.{_suggest(name)} {named} {_functions()}")
        case ast.BinOp(op=op) if type(op) in _BINARY:
            return _binary(node)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_walk(operand))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _call(name, [_walk(argument) for argument in arguments])
        case ast.Call(func=ast.Constant() | ast.BinOp() | ast.Call()):
            raise ExpressionError("Write multiplication with `*`.")
        case ast.Tuple():
            raise ExpressionError("A comma only separates arguments: write 1000 for one thousand.")
        case _:
            raise ExpressionError("Only numbers, + - * / // % ^, parentheses and functions can be used.")


def _binary(node: ast.BinOp) -> Number:
    # A sum of many terms is nested to the left as deep as it is long: walk down that side without recursion.
    chain: list[ast.BinOp] = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    value = _walk(chain[-1].left)
    for link in reversed(chain):
        apply = _BINARY.get(type(link.op))
        if apply is None:
            raise ExpressionError("Only + - * / // % ^ << >> & | can be used between numbers.")
        value = apply(value, _walk(link.right))
    return value


def _call(name: str, arguments: list[Number]) -> Number:
    function = FUNCTIONS.get(name) or FUNCTIONS.get(name.lower())
    if function is None:
        if name.lower() in CONSTANTS:
            raise ExpressionError("Write multiplication with `*`.")
        raise ExpressionError(f"Unknown function `{name}`.{_suggest(name)} {_functions()}")
    try:
        return function(*arguments)
    except (ValueError, TypeError) as error:
        what = str(error)
        if "domain error" in what:
            what = "the value is outside its domain"
        elif isinstance(error, TypeError) and "argument" in what:
            what = "wrong number of arguments"
        raise ExpressionError(f"{name.lower()}: {what}.") from error


def _suggest(name: str) -> str:
    close = get_close_matches(name.lower(), [*FUNCTIONS, *CONSTANTS], n=1)
    return f" Did you mean `{close[0]}`?" if close else ""


def _functions() -> str:
    return f"Functions: {', '.join(FUNCTIONS)}."


if __name__ == "__main__":
    main()
