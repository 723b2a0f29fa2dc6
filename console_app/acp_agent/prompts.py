"""Read the prompt that an editor sends: its words, and the files and resources that go with them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp import schema

from console_app.console import files
from console_app.domain import Attachment, UserMessage, errors, one_line
from console_app.mcp_client import Composer

_LINES = re.compile(r"L(\d{1,9})(?:[:-]L?(\d{1,9}))?")
Block = (
    schema.TextContentBlock
    | schema.ImageContentBlock
    | schema.AudioContentBlock
    | schema.ResourceContentBlock
    | schema.EmbeddedResourceContentBlock
)
Edited = Callable[[Path], Awaitable[str | None]]  # the text of a file as the editor has it, None where it hasn't


def words_of(blocks: Sequence[Block]) -> str:
    """Return a prompt's text: what stands between words by its name."""
    return "".join(_words(block) for block in blocks).strip()


async def message_of(
    words: str, blocks: Sequence[Block], attachments: files.Attachments, edited: Edited
) -> tuple[UserMessage, Sequence[str]]:
    """Return the message that these words mean, with its attachments, and what its sender should know. Raises
    FanoutError."""
    composed = await attachments.compose(words)
    own = [one for block in blocks if (one := await _attached(block, attachments, edited)) is not None]
    if sum(len(one.text) for one in own) > Composer.MOST_TEXT:
        raise errors.AttachmentError(
            f"what goes with this is too large together: a message carries {Composer.MOST_TEXT:,} characters"
        )
    message = composed.message
    return message.model_copy(update={"attachments": (*message.attachments, *own)}), composed.notices


def _words(block: Block) -> str:
    match block:
        case schema.TextContentBlock():
            return block.text
        case schema.ResourceContentBlock():
            return block.name if _path(block.uri) is not None else f"{block.name} ({block.uri})"
        case schema.EmbeddedResourceContentBlock():
            return _name(block.resource.uri)
        case _:
            return ""


async def _attached(block: Block, attachments: files.Attachments, edited: Edited) -> Attachment | None:
    match block:
        case schema.ImageContentBlock():
            return await attachments.of_picture(_bytes(block.data), _name(block.uri) if block.uri else "a picture")
        case schema.ResourceContentBlock():
            path = _path(block.uri)
            return None if path is None else await attachments.of_file(path, _range(block.uri), await edited(path))
        case schema.EmbeddedResourceContentBlock(resource=schema.TextResourceContents() as resource):
            return Attachment(
                name=_name(resource.uri), uri=resource.uri, mime=resource.mime_type or "", size=len(resource.text),
                text=resource.text,
            )  # fmt: skip
        case schema.EmbeddedResourceContentBlock(resource=schema.BlobResourceContents() as resource):
            return await attachments.of_picture(_bytes(resource.blob), _name(resource.uri))
        case schema.AudioContentBlock():
            raise errors.AttachmentError("sound can't go with a message")
        case _:
            return None


def _bytes(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise errors.AttachmentError("what came with this is no base64") from None


def _path(uri: str) -> Path | None:
    """Return the file of a URI, None where it names none of this machine."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path)
    here = parts.scheme == "file" and parts.netloc in ("", "localhost")
    return Path(path) if here and path.startswith("/") and "\0" not in path else None


def _name(uri: str) -> str:
    path = _path(uri)
    return one_line(str(path) if path is not None else uri, 400)


def _range(uri: str) -> files.LineRange | None:
    """Return the lines behind a `#`, as L10:20."""
    found = _LINES.fullmatch(uri.partition("#")[2])
    return files.LineRange(int(found[1]), int(found[2] or found[1])) if found else None
