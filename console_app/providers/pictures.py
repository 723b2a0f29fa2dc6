"""Pictures that go with a message or a result to a model that can see: read from where they were saved, made small
enough for every API, and few enough for a request.

Which models can see, nobody says beforehand: pictures are sent until an endpoint refuses them. A picture that can't be
sent is still named in the text of its message.
"""

from __future__ import annotations

import asyncio
import base64
import io
import os
import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from console_app.domain import AssistantMessage, ToolMessage, UserMessage, picture_size, ports
from console_app.records import dataclass, replace

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels

MOST = 20  # pictures of a request; of more, the oldest are only named
FEWER = 5  # left out at a time, so that most steps repeat what the last one sent and hit the cache
MOST_ENCODED = 28_000_000  # characters of base64 in a request: Anthropic takes 32 MB in all
LARGEST = 3_500_000  # bytes; as base64 below the five megabytes that Anthropic takes
_REFUSED = re.compile(r"image|vision|multi-?modal|media|mmproj|(?<!encrypted )content", re.IGNORECASE)
_FILTERED = re.compile(r"content.{0,3}(filter|policy|management|moderation|safety)|safety system", re.IGNORECASE)
_ONE_REFUSED = re.compile(
    r"could not process (the )?image|image.{0,40}(corrupt|decode|invalid|not valid|too (large|small|big)|exceed)"
    r"|(failed|unable|cannot|could not) to? ?(decode|process|parse|load|read|identify) (the )?image"
    r"|(invalid|unsupported|corrupt)[^.]{0,20} image (data|format|type|url)?|valid image|image dimensions"
    r"|invalid_image|image_parse_error",
    re.IGNORECASE,
)
_STATUSES = (400, 404, 415, 422, 500, 501)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as base64, with the type that its bytes say it has."""

    mime: str
    data: str

    @property
    def url(self) -> str:
        return f"data:{self.mime};base64,{self.data}"


def pictures_of(message: UserMessage | ToolMessage) -> Sequence[Picture]:
    """Return the pictures of a message that are there and can be sent. Slow for those that `fitted` hasn't read."""
    found: list[Picture] = []
    for path in message.images:
        try:
            stat = os.stat(path)
            picture = _read(path, stat.st_mtime_ns, stat.st_size)
        except OSError:
            continue
        if picture is not None:
            found.append(picture)
    return found


async def fitted(request: ports.ModelRequest) -> ports.ModelRequest:
    """Return `request` with its newest pictures, as many as a request may carry; older ones are left to the words that
    name them. They are read and made small in a thread: the event loop goes on meanwhile."""
    count = sum(0 if isinstance(one, AssistantMessage) else len(one.images) for one in request.messages)
    if not count:
        return request
    over = -(-(count - MOST) // FEWER) * FEWER if count > MOST else 0
    return await asyncio.to_thread(_newest, request, over)


def _newest(request: ports.ModelRequest, over: int) -> ports.ModelRequest:
    left: list[tuple[str, ...]] = []
    for message in request.messages:
        images = () if isinstance(message, AssistantMessage) else message.images
        left.append(images[over:])
        over = max(over - len(images), 0)
    room, messages = MOST_ENCODED, list(request.messages)
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, AssistantMessage) or not message.images:
            continue
        kept = message if left[place] == message.images else message.model_copy(update={"images": left[place]})
        room -= sum(len(picture.data) for picture in pictures_of(kept))
        messages[place] = kept if room >= 0 else kept.model_copy(update={"images": ()})
    return replace(request, messages=tuple(messages))


@lru_cache(maxsize=MOST + 4)  # each step of a turn sends the conversation anew
def _read(path: str, _modified: int, size: int) -> Picture | None:
    if not 0 < size <= picture_size.LARGEST_FILE:
        return None
    with open(path, "rb") as file:
        content = file.read(picture_size.LARGEST_FILE)
    if not (mime := picture_size.picture_type(content)):
        return None
    content, mime = _fitted(content, mime)
    return Picture(mime, base64.b64encode(content).decode()) if len(content) <= LARGEST else None


def _fitted(content: bytes, mime: str) -> tuple[bytes, str]:
    """Return a picture no wider than `WIDEST` and no larger than `LARGEST`: itself, or its first frame made smaller.

    One that can't be decoded stays as it is: the endpoint may know better.
    """
    from PIL import Image, ImageOps  # 40 ms, and only for pictures

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large pictures, which are bounded here
            with Image.open(io.BytesIO(content)) as picture:
                width, height = picture.size
                if max(width, height) <= picture_size.WIDEST and len(content) <= LARGEST:
                    return content, mime
                if width * height > picture_size.MOST_PIXELS:
                    return b"", ""
                picture.draft("RGB", (picture_size.WIDEST, picture_size.WIDEST))  # JPEG is decoded smaller at once
                small = ImageOps.exif_transpose(picture)
                # Computed from the size before `draft`, since people are told that one.
                turned = (width > height) != (small.width > small.height)
                sides = picture_size.scaled((height, width) if turned else (width, height))
                small = small.resize(sides, reducing_gap=2.0)  # pyright: ignore[reportUnknownMemberType]
                return _encoded(small, mime)
    except Exception:  # Pillow raises what its decoders raise
        return content, mime


def _encoded(picture: Pixels, mime: str) -> tuple[bytes, str]:
    """Write a picture as PNG, which keeps letters sharp; as JPEG where it was one, or PNG would be too large."""
    if mime != "image/jpeg":
        out = io.BytesIO()
        picture.convert("RGBA" if picture.has_transparency_data else "RGB").save(out, "PNG")
        if out.tell() <= LARGEST:
            return out.getvalue(), "image/png"
    out = io.BytesIO()
    picture.convert("RGB").save(out, "JPEG", quality=85)
    return out.getvalue(), "image/jpeg"


def picture_refused(status: int | None, message: str) -> bool:
    """Tell whether an error may mean that one picture is the matter, and not pictures as such."""
    return status in _STATUSES and _ONE_REFUSED.search(message) is not None


def images_refused(status: int | None, message: str) -> bool:
    """Tell whether an error may mean that the model takes no pictures."""
    return status in _STATUSES and _REFUSED.search(message) is not None and not _FILTERED.search(message)
