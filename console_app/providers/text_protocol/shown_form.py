"""Finds the form in which a model writes calls from the chat template that its endpoint shows.

A call that we know is rendered with the template, and its text is read as an answer is. Templates of llama.cpp and vLLM
are Jinja's, which are rendered where jinja2 is installed. Those of Ollama are Go's: their places for a name and for
arguments are filled in, and the text around them stays as it is.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from itertools import product, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from console_app.config.machine import child_programs
from console_app.providers.stream.loose_json import obj, text
from console_app.textcalls import ToolSignature, parse

if TYPE_CHECKING:
    from console_app.providers.endpoint.address import EndpointAddress
    from console_app.providers.endpoint.client import EndpointClient

PATIENCE: Final = 4.0  # seconds for all that an endpoint is asked, and for a rendering
LARGEST: Final = 200_000  # characters of a template
_ANSWER = 2 * 2**20  # bytes of what shows it
_ASKED: tuple[tuple[Literal["GET", "POST"], str, tuple[str, ...]], ...] = (
    ("GET", "/props", ("chat_template_tool_use", "chat_template")),  # llama.cpp
    ("POST", "/api/show", ("template",)),  # Ollama
    ("GET", "/tokenizer_info", ("chat_template",)),  # vLLM
)
_NAME, _VALUE, _MARK = "probe_tool", "one two", "ZQMARK"
_PROBE = ToolSignature(_NAME, {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]})
_ARGUMENTS = {"word": _VALUE}
_IDS = ("abc123def", f"functions.{_NAME}:0")  # of calls; templates may want nine signs, or name the tool by it
_NOT_JINJA = re.compile(r"\{%-?\s*(?:end)?generation\s*-?%\}")
_GO = re.compile(r"\{\{-?\s*(?P<what>.*?)\s*-?\}\}", re.DOTALL)
_REACH = 400  # characters behind the place of a name that may belong to its call
log = logging.getLogger(__name__)


async def shown_form(client: EndpointClient, where: EndpointAddress) -> str | None:
    """Return the form of the template that the endpoint shows; None where it shows none, or one that isn't known."""
    try:
        async with asyncio.timeout(PATIENCE):
            async for template in _templates(client, where):
                if (form := await form_of_template(template)) is not None:
                    return form
    except TimeoutError:
        log.info("%s: no chat template within %g s", where, PATIENCE)
    return None


async def _templates(client: EndpointClient, where: EndpointAddress) -> AsyncIterator[str]:
    for method, path, keys in _ASKED:
        body = {"model": where.config.model} if method == "POST" else None
        try:
            async with client.request(method, path, body, at_root=True) as response:
                shown = await _read(response)
        except Exception as error:  # of the SDK, of HTTP or of JSON: most endpoints show nothing
            log.debug("%s shows no template at %s: %r", where, path, error)
            continue
        for key in keys:
            if template := text(shown.get(key)):
                yield template


async def _read(response: Any) -> dict[str, Any]:
    said = b""
    async for piece in response.aiter_bytes():
        said += piece
        if len(said) > _ANSWER:
            return {}
    return obj(json.loads(said))


async def form_of_template(template: str) -> str | None:
    """Return the form in which a template writes calls, None where none is known."""
    if len(template) > LARGEST:
        return None
    jinja = "{%" in template
    written = [one async for one in _rendered(template)] if jinja else list(_filled_in(template))
    return next(filter(None, map(form_of_text, written)), None)


def form_of_text(written: str) -> str | None:
    """Return the form of a text that makes the known call and no other."""
    calls = parse(written, [_PROBE], level="all").calls
    right = len(calls) == 1 and calls[0].name == _NAME and calls[0].arguments == _ARGUMENTS
    return calls[0].form if right else None


async def _rendered(template: str) -> AsyncIterator[str]:
    """Yield what a Jinja template writes for the known call, in both shapes, without the last mark or with it."""
    if find_spec("jinja2") is None:
        return
    asks = {"role": "user", "content": "Go on."}
    conversations: list[list[dict[str, Any]]] = [[asks, {"role": "assistant", "content": _MARK}]]
    for call_id, arguments in product(_IDS, (_ARGUMENTS, json.dumps(_ARGUMENTS))):
        call = {"id": call_id, "type": "function", "function": {"name": _NAME, "arguments": arguments}}
        conversations.append([asks, {"role": "assistant", "content": "", "tool_calls": [call]}])
    plain, *called = await _render(template, conversations)
    for one in called:
        if one is not None and (start := _start(one, plain or "")) is not None:
            yield one[start:]
            yield one[max(one.rfind("<", 0, start), 0) :]


def _start(called: str, plain: str) -> int | None:
    """Return where the answer begins in a text: behind what stands before the answer in another one, too."""
    begin = plain.find(_MARK)
    pairs = zip(called, plain[:begin] if begin >= 0 else plain, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    while same and same != begin and not called[same - 1].isspace() and called[same - 1] != ">":
        same -= 1  # both go on with the same sign, and not with the same word
    return same if _NAME in called[same:] else None


async def _render(template: str, conversations: list[list[dict[str, Any]]]) -> list[str | None]:
    program = Path(__file__).with_name("render_template.py")
    process = await child_programs.start(
        *(sys.executable, "-I", str(program)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
    )
    try:
        asked = json.dumps({"template": _NOT_JINJA.sub("", template), "conversations": conversations})
        said, _ = await process.communicate(asked.encode())
        texts: list[str | None] = json.loads(said)
        return texts
    except ValueError:  # it was ended, by its limits
        return [None] * len(conversations)
    finally:
        await child_programs.end(process)


def _filled_in(template: str) -> Iterator[str]:
    """Yield the text of the known call as a Go template writes it, from each place where its calls may begin."""
    named = next((tag for tag in _GO.finditer(template) if tag["what"].endswith((".Function.Name", ".Name"))), None)
    if named is None:
        return
    for tag in _GO.finditer(template, 0, named.start()):
        if ".ToolCalls" in tag["what"]:
            yield _GO.sub(_filled, template[tag.end() : named.end() + _REACH]).strip()


def _filled(tag: re.Match[str]) -> str:
    what = tag["what"]
    if what.endswith("Name"):
        return _NAME
    return json.dumps(_ARGUMENTS) if "Arguments" in what else ""
