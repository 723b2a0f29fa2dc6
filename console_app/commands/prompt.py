"""The prompt of a run: from the arguments, from standard input, or from both, one after the other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from console_app.domain import UsageError

if TYPE_CHECKING:
    from console_app.console import files

PATIENCE = 3.0  # seconds for the first byte of a pipe that nobody said to read
_CHUNK = 65536
_WRITE_ONE = 'Write fanout run "PROMPT", or pipe one in.'


async def read_prompt(words: Sequence[str], note: Callable[[str], None], descriptor: int = 0) -> str:
    """Read the prompt, with what is piped in or stands for `-`. An inherited pipe may never end, so its first byte is
    waited for `PATIENCE` seconds; `note` is told. Raises UsageError without a prompt."""
    asked = "-" in words or not words
    text = " ".join(word for word in words if word != "-").strip()
    terminal = os.isatty(descriptor)
    if terminal and not words:
        raise UsageError("there is no prompt", _WRITE_ONE)
    piped = "" if terminal and not asked else await _read(descriptor, None if asked else PATIENCE, note)
    prompt = "\n\n".join(part for part in (text, piped.strip()) if part)
    if not prompt:
        raise UsageError("the prompt is empty", _WRITE_ONE)
    return prompt


async def with_attachments(attachments: files.Attachments, words: Sequence[str], prompt: str) -> files.Composed:
    """Return the message of a prompt with what its `words` name; what was piped in names nothing. Raises
    AttachmentError, ServerError and UsageError."""
    text = " ".join(word for word in words if word != "-").strip()
    composed = await attachments.compose(text)
    parts = (composed.message.content, prompt.removeprefix(text).strip())
    content = "\n\n".join(part for part in parts if part)
    return replace(composed, message=composed.message.model_copy(update={"content": content}))


async def _read(descriptor: int, patience: float | None, note: Callable[[str], None]) -> str:
    """Read `descriptor` to its end, without blocking the loop."""
    loop = asyncio.get_running_loop()
    data = bytearray()
    first, ended = asyncio.Event(), asyncio.Event()

    def readable() -> None:
        try:
            piece = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        data.extend(piece)
        first.set()
        if not piece:
            ended.set()

    try:
        loop.add_reader(descriptor, readable)
    except OSError:  # a regular file or /dev/null can't be waited for: it is always ready
        while not ended.is_set():
            readable()
        return _text(data)
    try:
        await asyncio.wait_for(first.wait(), patience)
        await ended.wait()
    except TimeoutError:
        note(f"Nothing came on standard input within {PATIENCE:g} s: going on without it.")
    finally:
        loop.remove_reader(descriptor)
    return _text(data)


def _text(data: bytearray) -> str:
    return data.decode("utf-8-sig", "replace")
