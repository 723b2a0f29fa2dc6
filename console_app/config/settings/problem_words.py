"""What is wrong with a value of the configuration, in words that follow its name."""

from __future__ import annotations

from pydantic_core import ErrorDetails

_TAKES = {
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
}


def in_words(problem: ErrorDetails) -> str:
    """As in "takes a whole number" or "should be 'parallel' or 'single'"."""
    if takes := _TAKES.get(problem["type"]):
        return f"takes {takes}"
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return message[:1].lower() + message[1:]
