"""A model behind HTTP that answers any number of conversations: it calculates what stands behind `calc:`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Reply, Request

Odd = Callable[[str, Request], Answer | Reply | None]


def prompt_of(request: Request) -> str:
    """Return the newest words of the user."""
    said = [one for one in request.body["messages"] if one["role"] == "user"][-1]["content"]
    return said if isinstance(said, str) else "".join(part.get("text", "") for part in said)


def calculating(odd: Odd = lambda prompt, request: None) -> Callable[[Request], Answer | Reply]:
    """A handler: a call of the calculator for each `calc: EXPRESSION` line, then its results; else it says the prompt.
    `odd` may answer in its place."""

    def handle(request: Request) -> Answer | Reply:
        prompt = prompt_of(request)
        if (answer := odd(prompt, request)) is not None:
            return answer
        last: dict[str, Any] = request.body["messages"][-1]
        sums = re.findall(r"calc: *(.+)", prompt)
        if last["role"] == "user" and sums:
            name = next(tool["function"]["name"] for tool in request.body["tools"] if "eval" in json.dumps(tool))
            return Answer(*(Call(name, json.dumps({"expression": one})) for one in sums))
        if last["role"] == "tool":
            found = [one["content"] for one in request.body["messages"] if one["role"] == "tool"]
            return Answer(Text("It is " + ", ".join(found)))
        return Answer(Text(f"You said {prompt}"))

    return handle
