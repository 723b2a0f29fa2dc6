"""What people are shown of a result: its own text, and its pictures by their facts, not what names them to a model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from console_app.domain.amounts import size
from console_app.domain.remarks import without_remarks
from console_app.domain.tools import Artifact, Outcome
from console_app.domain.transcript_parts import CallView

_SENTENCE = re.compile(r"\[[^\[\]\n]{1,200} of type image/[^\n]{0,100} bytes, saved as ([^\n]+)\]\n?")
_SDK_WORDS = re.compile(r"^\s*Error executing tool \S+: (?=\S)")  # before any error of a server made with one SDK
_REMARK = re.compile(r"\n?\[Fanout: the (?:\d+ )?pictures? [^\n]*\]\Z")


def shown_text(call: CallView) -> str:
    """A result's own text, without what is said to the model alone."""
    text = without_remarks(call.content, call.outcome)
    pictures = [one for one in call.artifacts if one.is_picture]
    return without_naming(text, pictures) if pictures and call.outcome is Outcome.SUCCEEDED else text


def own_error(text: str) -> str:
    """The first line of an error that says something, in the tool's own words."""
    return _SDK_WORDS.sub("", next((line for line in text.split("\n") if line.strip()), ""))


def facts_of(picture: Artifact) -> str:
    """`640x480 PNG · 12 kB`, as far as it is known."""
    sides = "{}x{} ".format(*picture.sides) if picture.sides is not None else ""
    name = picture.mime.partition("/")[2].upper().replace("JPG", "JPEG")
    name = "WebP" if name == "WEBP" else name
    return f"{sides}{name}" + (f" · {size(picture.size)}" if picture.size else "")


def pictures_in_words(pictures: Sequence[Artifact]) -> str:
    """`picture, 640x480 PNG · 12 kB`, `3 pictures · 40 kB`."""
    if len(pictures) == 1:
        return f"picture, {facts_of(pictures[0])}"
    return f"{len(pictures)} pictures · {size(sum(one.size for one in pictures))}"


def without_naming(text: str, pictures: Sequence[Artifact]) -> str:
    """A result's text without the sentences that tell a model of the pictures that people are shown."""
    paths = {one.path for one in pictures}
    rest = _SENTENCE.sub(lambda found: "" if found[1] in paths else found[0], _REMARK.sub("", text))
    return text if rest == text else rest.rstrip("\n")
