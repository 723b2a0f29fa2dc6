"""Arithmetic from text: an expression is parsed by Python's own parser and walked with a short list of what is allowed.

Nothing is ever compiled or run. Integers are exact; what would take long or much memory (`9**9**9`, a factorial of a
billion, a shift by a million) is refused before it is tried, by the size its result would have.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Final

from console_app.servers.functions import CONSTANTS, FUNCTIONS, LARGEST_BITS, Number, refuse_large

LONGEST_EXPRESSION: Final = 4000  # characters
_SYMBOLS: Final = str.maketrans({"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "π": "pi", "τ": "tau", "^": "**"})
_SUPERSCRIPTS: Final = {"²": "**2", "³": "**3"}
_ROOT: Final = re.compile(r"√\s*(?:(\d+(?:\.\d+)?|[A-Za-z_]\w*)(?!\w*\s*\()|(?=\())")
_FACTORIAL: Final = re.compile(r"(?<![\w.)])(\d+)!(?!=)")


class ExpressionError(ValueError):
    """Why an expression has no value: one sentence for whoever wrote it."""


def evaluate(expression: str) -> Number:
    """The value of `expression`: an int where it is exact, else a float. Raises ExpressionError."""
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
    for symbol, power in _SUPERSCRIPTS.items():
        text = text.replace(symbol, power)
    text = " ".join(text.split())
    if not text:
        raise ExpressionError("The expression is empty.")
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise ExpressionError(_syntax_reason(expression, error)) from error


def _syntax_reason(expression: str, error: Exception) -> str:
    if "%" in expression:
        hint = " `%` is the remainder; write 50/100 for 50 percent."
    elif re.search(r"\d\s*[A-Za-z(]|\)\s*[\w(]", expression):
        hint = " Write multiplication with `*`."
    else:
        hint = ""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"Not an arithmetic expression: {message}.{hint}"


def _reason(error: Exception) -> str:
    if isinstance(error, ZeroDivisionError):
        return "Division by zero."
    if isinstance(error, OverflowError):
        return "A number became too large for floating point; use integers to stay exact."
    text = str(error)
    if "domain error" in text:
        return "A function was asked for a value outside its domain."
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int):
        if exponent >= 0:
            if abs(base) > 1:
                refuse_large(math.log2(abs(base)) * exponent)
            return base**exponent
        if base == 0:
            raise ZeroDivisionError
    value: Any = base**exponent
    if isinstance(value, complex):
        raise ExpressionError("The result is not a real number.")
    return value


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
_UNARY: Final[dict[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.UAdd: lambda value: value,
    ast.USub: lambda value: -value,
    ast.Invert: lambda value: ~value,
}


def _walk(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=bool() | None | str() | bytes() | complex()):
            raise ExpressionError("Only numbers can be calculated with.")
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            return _constant(name)
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


def _constant(name: str) -> Number:
    value = CONSTANTS.get(name.lower())
    if value is not None:
        return value
    if name.lower() in FUNCTIONS:
        raise ExpressionError(f"`{name}` is a function: write {name}(x).")
    raise ExpressionError(f"Unknown name `{name}`.{_suggest(name)} Constants: {', '.join(CONSTANTS)}. {_functions()}")


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
