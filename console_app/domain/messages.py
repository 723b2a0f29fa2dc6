"""The messages of a conversation, as they join the history and go to a model in every wire format."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from console_app.domain import amounts
from console_app.domain.safe_text import one_line
from console_app.domain.tools import Frozen, Outcome, ToolCall

ThoughtLabel = Literal["think", "reason", "plan", "observe"]


class Reasoning(Frozen):
    """Reasoning, and any other part of an answer that its provider wants back unchanged with the next request.

    `text` is for people. `data` is the provider's own block (an Anthropic thinking block with its signature, an
    OpenAI Responses reasoning item, a server tool's call or result, a mark where a text begins, the name of a
    `reasoning_content` field): only `provider`, the wire format that wrote it, may send it.
    """

    provider: str
    text: str = ""
    data: dict[str, Any] = Field(default_factory=dict)


PIXELS_A_TOKEN = 750  # of a picture: Claude's count; what other models see is cut into pieces of about that size
LARGEST_PICTURE = 1_600  # tokens: larger ones are made smaller where they are read


class Attachment(Frozen):
    """A copy that goes with a message of something that was read for it: a server's resource or part of a prompt, else
    a file or folder of this machine.

    `text` is what the model reads: the content itself or, of bytes, words that name their file. `path` is where the
    bytes were saved: that copy is sent, whatever becomes of the file they came from.
    """

    server: str = ""  # "" for a file or folder
    uri: str = ""
    name: str = ""  # of a file or folder: its path as people read it; a folder's ends in "/"
    part: str = (
        ""  # what of it is sent, where that isn't all: "lines 10-40 of 200", "4000x3000 pixels, sent as 2000x1500"
    )
    mime: str = ""
    size: int = 0  # bytes
    pixels: int = 0  # of a picture, as it is sent; 0 where its header doesn't say
    text: str = ""
    path: str = ""

    @property
    def label(self) -> str:
        return f"{self.server} {self.uri or self.name}" if self.server else self.name

    @property
    def is_picture(self) -> bool:
        return bool(self.path) and self.mime.startswith("image/")

    @property
    def facts(self) -> str:
        """Return kind and size in a few words: `text/plain · 2.1 KB`."""
        return " · ".join(filter(None, (one_line(self.mime, 60), amounts.size(self.size) if self.size else "empty")))

    @property
    def tokens(self) -> int:
        picture = min(-(-self.pixels // PIXELS_A_TOKEN), LARGEST_PICTURE)
        return -(-len(self.text) // amounts.CHARACTERS_A_TOKEN) + picture

    @property
    def costs(self) -> str:
        """Return cost and kind in a few words: `~2.1k tokens · lines 10-40 of 200`."""
        costs = f"~{amounts.tokens(self.tokens)} token{'' if self.tokens == 1 else 's'}"
        if self.mime.startswith("image/"):
            costs = f"{costs} · picture" if self.pixels else f"picture · {amounts.size(self.size)}"
        return f"{costs} · {self.part}" if self.part else costs


class UserMessage(Frozen):
    """A message of the user, or one that Fanout writes in the user's place (`origin`), as a note after a stop.

    `source` is the command, as `/server:prompt words`, that had a server write the content.
    """

    role: Literal["user"] = "user"
    content: str
    origin: Literal["user", "fanout"] = "user"
    attachments: tuple[Attachment, ...] = ()
    source: str = ""
    images: tuple[str, ...] = ()  # paths of pictures, for models that can see; only in `written_out`
    tells: str = ""  # the call whose result it is, which came after its answer had gone on
    parts: tuple[UserMessage, ...] = ()  # what was joined to it, each with its origin; only in requests

    @property
    def whole(self) -> str:
        """Return all that the model reads of it: the content, then each attachment in a frame that it can't close."""
        return "\n\n".join(part for part in (self.content, *map(_framed, self.attachments)) if part)

    @property
    def written_out(self) -> UserMessage:
        if not self.attachments:
            return self
        pictures = tuple(one.path for one in self.attachments if one.is_picture)
        return UserMessage(content=self.whole, origin=self.origin, source=self.source, images=pictures)


class AssistantMessage(Frozen):
    """A message of the model: text, the calls it asked for in order, and reasoning to send back.

    `provider_data` is what the endpoint gave beside that, in the words of its wire format; `tool_calls` have theirs.
    Only requests to `endpoint`, the one that gave it (`domain.settings.identity`), carry it.
    """

    role: Literal["assistant"] = "assistant"
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: tuple[Reasoning, ...] = ()
    interrupted: bool = False  # the answer was cut off, by a stop or by a lost connection
    paused: bool = False  # by its provider, which goes on with it once it has it back; it may hold blocks alone
    endpoint: str = ""  # whose answer it is; "" where that was not kept
    provider_data: dict[str, Any] = Field(default_factory=dict)
    label: ThoughtLabel | None = None  # its text is a step of a strategy that thinks aloud, not an answer to the user


class ToolMessage(Frozen):
    """The one result of a call."""

    role: Literal["tool"] = "tool"
    tool_call_id: str
    content: str
    name: str = ""
    outcome: Outcome = Outcome.SUCCEEDED
    images: tuple[str, ...] = ()  # paths of pictures that the call gave, for models that can see


def _framed(attachment: Attachment) -> str:
    facts = (
        ("server", attachment.server),
        ("uri", attachment.uri),
        ("path", "" if attachment.server else attachment.name),
        ("part", attachment.part),
        ("type", attachment.mime),
    )
    head = "".join(f" {name}={json.dumps(value, ensure_ascii=False)}" for name, value in facts if value)
    text = attachment.text.replace("</attachment", "<\\/attachment")
    return f"<attachment{head}>\n{text}\n</attachment>"


Message = Annotated[UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]
