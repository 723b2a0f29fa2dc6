"""What an expression may call, by name: the usual functions, each bounded in what it may cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

Number = int | float

LARGEST_BITS: Final = 100_000  # of an integer: some 30,000 digits
LARGEST_FACTORIAL: Final = 8000
LARGEST_MODULAR_BITS: Final = 4096

CONSTANTS: Final[dict[str, Number]] = {"e": math.e, "pi": math.pi, "tau": math.tau}


def refuse_large(bits: float) -> None:
    """Raises ValueError for an integer of more than `LARGEST_BITS` bits, before it is made."""
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


def _log(value: Number, base: Number | None = None) -> float:
    return math.log(value) if base is None else math.log(value, base)


def _ln(value: Number) -> float:
    return math.log(value)


def _round(value: Number, digits: Number = 0) -> Number:
    places = _whole(digits)
    if abs(places) > 400:
        raise ValueError("round to at most 400 places")
    return round(value) if places == 0 else round(value, places)


def _pow(base: Number, exponent: Number, modulus: Number | None = None) -> Number:
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


def _isqrt(value: Number) -> int:
    return math.isqrt(_whole(value))


def _sign(value: Number) -> int:
    return (value > 0) - (value < 0)


def _abs(value: Number) -> Number:
    return abs(value)


def _trunc(value: Number) -> int:
    return math.trunc(value)


def _comb(total: Number, chosen: Number) -> int:
    return _choices(math.comb, total, chosen)


def _perm(total: Number, chosen: Number) -> int:
    return _choices(math.perm, total, chosen)


def _mod(value: Number, divisor: Number) -> Number:
    return value % divisor


def _xor(left: Number, right: Number) -> int:
    return _whole(left) ^ _whole(right)


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


def _mean(values: tuple[Number, ...]) -> float:
    return sum(values) / len(values)


FUNCTIONS: Final[dict[str, Callable[..., Number]]] = {
    "sqrt": math.sqrt,
    "cbrt": math.cbrt,
    "isqrt": _isqrt,
    "abs": _abs,
    "sign": _sign,
    "round": _round,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": _trunc,
    "exp": math.exp,
    "ln": _ln,
    "log": _log,
    "log2": math.log2,
    "log10": math.log10,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "atan2": math.atan2,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": math.acosh,
    "atanh": math.atanh,
    "degrees": math.degrees,
    "radians": math.radians,
    "hypot": math.hypot,
    "factorial": _factorial,
    "gamma": math.gamma,
    "comb": _comb,
    "perm": _perm,
    "gcd": _whole_numbers(math.gcd),
    "lcm": _whole_numbers(math.lcm),
    "pow": _pow,
    "mod": _mod,
    "xor": _xor,
    "min": _list(min),
    "max": _list(max),
    "sum": _list(sum),
    "mean": _list(_mean),
}
