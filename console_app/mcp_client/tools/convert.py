"""MCP's types to ours: tools to ToolSpecs, results to what a model reads.

Text is passed on whole. Pictures, sound and other bytes become files and are named in the text: base64 reaches neither
a screen nor a prompt. Texts stay as the server wrote them; whoever shows them makes them safe.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import mimetypes
import os
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from console_app.config.files import disk
from console_app.domain import Artifact, Outcome, ToolResult, one_line, picture_size, safe_text, web_address
from console_app.domain.tools import FAILED, ToolAnnotations
from console_app.mcp_client.tools.schemas import MARK

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock, Tool


ERROR_LENGTH = 300  # characters of `ToolResult.error`
MOST_FILES = 100  # that are kept of one answer
_MIME = re.compile(r"[\w.-]{1,60}/[\w.+-]{1,60}")  # without its parameters
_EXTENSIONS = {  # where mimetypes has none, or an odd one
    "image/jpeg": ".jpg",
    "image/webp": ".webp",
    "image/svg+xml": ".svg",
    "audio/wav": ".wav",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "application/json": ".json",
}
LONGEST_TEXT: Final = 256 * 1024  # characters of a text that is read as JSON
_PAGES: Final = ("oauth_start_url", "auth_url", "authorization_url", "login_url", "sign_in_url", "url")
_WORDS: Final = ("error", "error_message", "message", "detail", "reason")


def annotations_of(tool: Tool) -> ToolAnnotations:
    """Return what the server says of the tool's effects, with the protocol's defaults."""
    hints = tool.annotations
    title = tool.title or (hints.title if hints else None) or ""
    if hints is None:
        return ToolAnnotations(title=title)
    return ToolAnnotations(
        title=title,
        read_only=bool(hints.read_only_hint),
        destructive=hints.destructive_hint is not False and not hints.read_only_hint,
        says_destructive=bool(hints.destructive_hint) and not hints.read_only_hint,
        idempotent=bool(hints.idempotent_hint),
        open_world=hints.open_world_hint is not False,
        says_open_world=bool(hints.open_world_hint),
    )


def failed(error: str) -> ToolResult:
    line = one_line(error, web_address.length_of(error, ERROR_LENGTH))
    return ToolResult(outcome=Outcome.FAILED, content=f"{FAILED}{safe_text.encodable(error)}", error=line)


async def converted(result: CallToolResult, files: ResultFiles) -> ToolResult:
    """Return the result as ours; files are written in a thread, which stops once the call is cancelled."""
    if not any(map(_is_file, result.content)):
        return result_of(result, files)
    stopped = threading.Event()
    try:
        return await asyncio.to_thread(result_of, result, files, stopped)
    finally:
        stopped.set()


def result_of(result: CallToolResult, files: ResultFiles, stopped: threading.Event | None = None) -> ToolResult:
    """Return what came of a call. Writes files, so it belongs in a thread, until `stopped` is set."""
    texts: list[str] = []
    artifacts: list[Artifact] = []
    kept = left_out = 0
    for block in result.content:
        if _is_file(block):
            if kept >= MOST_FILES or (stopped is not None and stopped.is_set()):
                left_out += 1
                continue
            kept += 1
        text, artifact = block_text(block, files)
        texts.append(text)
        if artifact is not None:
            artifacts.append(artifact)
    if left_out:
        texts.append(f"[{left_out} more files were not kept: of one answer, the first {MOST_FILES} are]")
    structured: Any = result.structured_content
    if structured is not None and not any(block.type == "text" for block in result.content):
        texts.append(json.dumps(structured, ensure_ascii=False, indent=2))
    content = "\n".join(texts)
    if page := _sign_in_page(structured, content):
        error = f"It wants you to sign in: open {page}, then run the call again."
        said = failed(f"{error}\n{content}".strip())
        link = Artifact(name="sign-in page", mime="text/html", uri=page)
        return said.model_copy(
            update={"artifacts": (*artifacts, link), "error": one_line(error, web_address.length_of(error, 0))}
        )
    if result.is_error:
        return failed(content.strip() or "the tool gave no reason").model_copy(update={"artifacts": tuple(artifacts)})
    if (words := _in_band_error(structured, content)) is not None:
        told = content.strip()
        if words.strip() not in told and json.dumps(words, ensure_ascii=False)[1:-1] not in told:
            told = f"{words.strip()}\n{told}".strip()  # or people would read the reason, and the model would not
        said = failed(told or "the tool gave no reason")
        line = one_line(words, ERROR_LENGTH) if words else said.error
        return said.model_copy(update={"artifacts": tuple(artifacts), "error": line})
    fields = cast("dict[str, Any]", structured) if isinstance(structured, dict) else None
    return ToolResult(
        outcome=Outcome.SUCCEEDED,
        content=content,
        artifacts=tuple(artifacts),
        structured=fields,
        remark=(result.meta or {}).get(MARK, ""),
    )


def _is_file(block: ContentBlock) -> bool:
    return block.type in {"image", "audio"} or (block.type == "resource" and not hasattr(block.resource, "text"))


def block_text(block: ContentBlock, files: ResultFiles) -> tuple[str, Artifact | None]:
    match block.type:
        case "text":
            return block.text, None
        case "image" | "audio":
            return files.save(block.data, block.mime_type, block.type, block.type)
        case "resource_link":
            name = block.title or block.name
            mime = block.mime_type or "application/octet-stream"
            artifact = Artifact(name=name, mime=mime, uri=block.uri, size=block.size or 0)
            about = f": {block.description}" if block.description else ""
            return f"[link to {name}, {block.uri}{about}]", artifact
        case "resource":
            resource = block.resource
            name = resource.uri.rstrip("/").rpartition("/")[2] or "resource"
            if (text := getattr(resource, "text", None)) is not None:
                said = _MIME.match(resource.mime_type or "")
                of_type = f" of type {said[0].lower()}" if said and said[0].lower() != "text/plain" else ""
                return f"[resource {resource.uri}{of_type}]\n{text}", None
            data, mime = str(getattr(resource, "blob", "")), resource.mime_type or "application/octet-stream"
            return files.save(data, mime, name, f"resource {resource.uri}")


class ResultFiles:
    """The folder where bytes from results are kept: files of mode 0600 with names of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._next: dict[str, int] = {}  # by name: which number is free, as far as is known

    def save(self, data: str, mime: str, name: str, what: str) -> tuple[str, Artifact | None]:
        """Write base64 `data`; return how the content names it, and the artifact unless that failed."""
        mime = mime.partition(";")[0].strip().lower()
        try:
            content = base64.b64decode(data, validate=False)
        except (binascii.Error, ValueError):
            return f"[{what} of type {mime}: its data could not be decoded]", None
        try:
            path = self._write(content, _stem(name), _extension(mime, name))
        except OSError as error:
            return f"[{what} of type {mime}, {len(content)} bytes: not saved, {error.strerror or error}]", None
        sides = picture_size.picture_size(content) if mime in picture_size.SENT else None
        artifact = Artifact(name=path.name, mime=mime, path=str(path), size=len(content), sides=sides)
        smaller = picture_size.sides_sent(sides)
        pixels = f"{smaller}, " if smaller else ""
        return f"[{what} of type {mime}, {pixels}{len(content)} bytes, saved as {path}]", artifact

    def _write(self, content: bytes, stem: str, extension: str) -> Path:
        disk.private_folder(self._folder)
        name = f"{stem}{extension}"
        number = self._next.get(name, 1)
        while True:
            path = self._folder / (name if number == 1 else f"{stem}-{number}{extension}")
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, disk.PRIVATE_FILE)
            except FileExistsError:
                # The file is of an earlier run, which may have left thousands: a few steps find a number beyond them.
                number = number + 1 if number < 10 else 2 * number
                continue
            self._next[name] = number + 1
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            return path


def _stem(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", Path(name).stem).strip("-")[:60] or "file"


def _extension(mime: str, name: str) -> str:
    known = _EXTENSIONS.get(mime) or mimetypes.guess_extension(mime)
    if known:
        return known
    suffix = Path(name).suffix
    return suffix if re.fullmatch(r"\.[A-Za-z0-9]{1,8}", suffix) else ".bin"


def _sign_in_page(structured: Any, text: str) -> str:
    """Return the page to sign in at, where a result says that the user has to: `auth_required`, as Atlas calls it."""
    fields = _own_fields(structured, text)
    about = {**safe_text.as_object(fields.get("meta_data")), **safe_text.as_object(fields.get("results")), **fields}
    wanted = about.get("auth_required")
    if wanted is not True and not isinstance(wanted, dict) and about.get("type") != "auth_required":
        return ""
    about |= safe_text.as_object(wanted)
    pages = (about.get(name) for name in _PAGES)
    return next((page for page in pages if isinstance(page, str) and web_address.is_web_page(page)), "")


def _own_fields(structured: Any, text: str) -> dict[str, Any]:
    """Return the object that a result is: its structured content, else a text that is one."""
    fields = _object(text) if structured is None else safe_text.as_object(structured)
    if structured is not None and fields.keys() == {"result"} and isinstance(fields["result"], dict):
        return cast("dict[str, Any]", fields["result"])  # as the Python SDK wraps what isn't an object of its own
    return fields


def _in_band_error(structured: Any, text: str) -> str | None:
    """Return the server's words for a failure in a result that the protocol calls a success.

    They are "" where it has none, and None where nothing says that it failed. `is_error: true` says so at the top of
    the structured content, and so does `meta_data.is_error: true` there, as servers written for Atlas have it. Without
    structured content a text counts that is one JSON object.
    """
    fields = _own_fields(structured, text)
    about = safe_text.as_object(fields.get("meta_data"))
    if fields.get("is_error") is not True and about.get("is_error") is not True:
        return None
    results: Any = fields.get("results")
    places = (safe_text.as_object(results), fields, about)
    said = next((words for place in places if (words := _said(place))), "")
    return said or (results if isinstance(results, str) else "")


def _said(place: Mapping[str, Any]) -> str:
    for name in _WORDS:
        value: Any = place.get(name)
        value = safe_text.as_object(value).get("message", value)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _object(text: str) -> dict[str, Any]:
    told = "is_error" in text or "auth_required" in text
    return safe_text.object_in(text) if told and text.lstrip().startswith("{") and len(text) <= LONGEST_TEXT else {}
