"""Whether a tool's schema is one that can be offered: a model's API refuses every tool over one that is not.

Small ones are checked against JSON Schema itself, at 50 µs a part; large ones only for what endpoints stumble over.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, cast

from console_app.domain.schema import faults

# Levels of JSON, two for each level of properties: fifty of those fit. What reads and writes JSON on the way to a model
# gives up at 200.
DEEPEST: Final = 120
LARGEST: Final = 1_000_000  # characters of a schema; it goes along with every request
_MOST_CHECKED: Final = 2_000  # parts of a schema that are checked against JSON Schema,
_LONGEST_CHECKED: Final = 100_000  # and characters


class Size(NamedTuple):
    """How much there is of a JSON value; `depth` and `characters` go little beyond what is too much."""

    parts: int
    depth: int
    characters: int  # of texts and names

    @property
    def problem(self) -> str:
        """Why a schema of this size can't be offered, or ""."""
        if self.depth > DEEPEST:
            return f"nested more than {DEEPEST} levels deep"
        return f"larger than {LARGEST:,} characters" if self.characters > LARGEST else ""


def measure(value: Any) -> Size:
    """The size of a JSON value. Never recurses, and looks no further than at what is too much."""
    parts = depth = characters = 0
    level = [value]
    while level and depth <= DEEPEST and characters <= LARGEST:
        depth += 1
        parts += len(level)
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                characters += sum(map(len, cast("dict[str, Any]", item)))
                below += cast("dict[str, Any]", item).values()
            elif isinstance(item, list):
                below += cast("list[Any]", item)
            elif isinstance(item, str):
                characters += len(item)
            elif isinstance(item, int):
                characters += item.bit_length() // 3
        level = below
    return Size(parts, depth, characters)


def check_schema(schema: dict[str, Any]) -> str:
    """Why `schema` is not valid JSON Schema, in a few words, or ""."""
    size = measure(schema)
    if size.parts > _MOST_CHECKED or size.characters > _LONGEST_CHECKED:
        return next((_invalid(where, wrong) for where, wrong in faults(schema)), "")
    # jsonschema takes 0.1 s to import; the SDK needs it as well, for structured results.
    from jsonschema import SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema).check_schema(schema)
    except SchemaError as error:
        return _invalid(".".join(map(str, error.absolute_path)), error.message[:120])
    except Exception as error:  # a schema can make the checker itself fail (a bad regular expression)
        return f"its inputSchema can't be checked ({type(error).__name__})"
    return ""


def _invalid(where: str, what: str) -> str:
    return f"its inputSchema is not valid JSON Schema ({f'{where}: ' if where else ''}{what})"
