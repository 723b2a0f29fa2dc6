"""Pictures that go with a message to a model that can see: read from where they were saved, small enough for every API.

Which models can see, nobody says beforehand: pictures are sent until an endpoint refuses them. A picture that can't be
sent is still named in the text of its message.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from console_app.domain.messages import UserMessage

IMAGES = "images"  # as it is called among what an endpoint refused
LARGEST = 3_500_000  # bytes; as base64 below the five megabytes that Anthropic takes
_KINDS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))
_REFUSED = re.compile(r"image|vision|multi-?modal|media|mmproj|(?<!encrypted )content", re.IGNORECASE)
_STATUSES = (400, 404, 415, 422, 500, 501)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as base64, with the type that its bytes say it has."""

    mime: str
    data: str

    @property
    def url(self) -> str:
        """It as a `data:` URL."""
        return f"data:{self.mime};base64,{self.data}"


def pictures_of(message: UserMessage) -> Sequence[Picture]:
    """The pictures of a message that are there and can be sent."""
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


@lru_cache(maxsize=8)  # each step of a turn sends the conversation anew
def _read(path: str, _modified: int, size: int) -> Picture | None:
    if not 0 < size <= LARGEST:
        return None
    with open(path, "rb") as file:
        content = file.read(LARGEST)
    mime = picture_type(content)
    return Picture(mime, base64.b64encode(content).decode()) if mime else None


def picture_type(content: bytes) -> str:
    """The type of a picture that can be sent, by its first bytes; "" for anything else."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for begin, mime in _KINDS if content.startswith(begin)), "")


def images_refused(status: int | None, message: str) -> bool:
    """Whether an error may mean that the model takes no pictures."""
    return status in _STATUSES and _REFUSED.search(message) is not None
