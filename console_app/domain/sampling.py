"""How a model is asked to write: all settings of a request as one value, which goes whole from the files to the wire.

A new one is a field here and a row in `providers/formats/request_parts.py`: config.toml, its tables and the
environment take it as it is.
"""

from __future__ import annotations

from collections import ChainMap
from itertools import chain
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, Field

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
Texts = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]


class Sampling(BaseModel, frozen=True, extra="forbid", hide_input_in_errors=True):
    """None leaves it to the endpoint. Settings inherit it: they are frozen too, and an unknown key is an error."""

    max_tokens: Annotated[int, Field(ge=1)] | None = None  # of an answer
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    stop: Texts | None = None  # texts that end an answer
    effort: Effort | None = None  # how much the model thinks first; which of them there are, its endpoint knows
    # Whether several calls an answer are asked for or refused by name; some endpoints take neither.
    parallel_tool_calls: Literal["send", "refuse", "omit"] | None = None
    # Marks and keys for the provider's prompt cache: where they are known to be taken, wherever there is one, never.
    cache: Literal["auto", "on", "off"] | None = None
    extra_body: dict[str, Any] | None = None  # goes into the request as it is, over all else

    @classmethod
    def merged(cls, *layers: Sampling) -> Self:
        """What the first of `layers` says that says anything; all that `stop` and `extra_body` say in any of them."""
        values_by_name: dict[str, Any] = {}
        for name in cls.model_fields:
            if values := [value for layer in layers if (value := getattr(layer, name, None)) is not None]:
                values_by_name[name] = _together(values)
        return cls.model_construct(**values_by_name)


def _together(values: list[Any]) -> Any:
    if isinstance(values[0], dict):
        return dict(ChainMap(*values))
    return tuple(dict.fromkeys(chain.from_iterable(values))) if isinstance(values[0], tuple) else values[0]
