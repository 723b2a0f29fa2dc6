"""The folders that a server may touch, and paths inside them that nothing can turn into a way out.

A path is resolved, links and all, and must then lie inside a folder that is allowed. It is opened piece by piece from
that folder without following any link, so one that appears between the check and the opening is refused as well.
New files get a name that nothing else has, and nothing is overwritten.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import unquote, urlsplit

from console_app.servers.parts.server import CallContext, ToolFailedError

_NEVER_A_LINK: Final = os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | _NEVER_A_LINK
_FILE: Final = os.O_RDONLY | os.O_NONBLOCK | _NEVER_A_LINK  # a pipe without a writer must not hold the server up
FOLDER_VARIABLE = "FANOUT_FILES"
LONGEST_NAME = 100  # characters, without the suffix


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A path inside an allowed folder: `root` and `parts` hold no link and no `..`. `written` is what was asked for."""

    root: Path
    parts: tuple[str, ...]
    written: str

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.parts)

    @property
    def name(self) -> str:
        return self.parts[-1] if self.parts else self.root.name

    @contextmanager
    def folder(self, *, parent: bool = False, make: bool = False) -> Generator[int]:
        """Open this folder, or the one that holds it, as a descriptor; `make` creates folders that are missing."""
        descriptor = -1
        try:
            descriptor = os.open(self.root, _FOLDER)
            for part in self.parts[:-1] if parent else self.parts:
                if make:
                    try:
                        os.mkdir(part, dir_fd=descriptor)
                    except FileExistsError:
                        pass  # the next line finds out whether it is a folder
                descriptor, above = os.open(part, _FOLDER, dir_fd=descriptor), descriptor
                os.close(above)
            yield descriptor
        except OSError as error:
            raise self.failure(error) from error
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    @contextmanager
    def file(self) -> Generator[BinaryIO]:
        """Return the regular file here, for reading. Raises ToolFailedError when there is none."""
        if not self.parts:
            raise ToolFailedError(f"{self.written} is a folder.")
        with self.folder(parent=True) as folder:
            descriptor = os.open(self.name, _FILE, dir_fd=folder)
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                os.close(descriptor)
                kind = "a folder" if stat.S_ISDIR(mode) else "neither a file nor a folder"
                raise ToolFailedError(f"{self.written} is {kind}.")
            with os.fdopen(descriptor, "rb") as file:
                yield file

    def failure(self, error: OSError) -> ToolFailedError:
        match error.errno:
            case errno.ENOENT:
                return ToolFailedError(f"{self.written} does not exist.")
            case errno.ELOOP | errno.EMLINK:
                return ToolFailedError(f"{self.written} leads through a symbolic link that was not there before.")
            case errno.ENOTDIR:
                return ToolFailedError(f"{self.written}: a part of the path is not a folder.")
            case _:
                return ToolFailedError(f"{self.written}: {(error.strerror or str(error)).lower()}.")


def quoted(name: str) -> str:
    """Return a name or a path as one line of a listing: as JSON has it, where there is anything in it but letters."""
    return name if name.isprintable() else json.dumps(name)


class Folders:
    """The folders that may be used; a relative path counts from the first that has it."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(dict.fromkeys(Path(os.path.realpath(root)) for root in roots))

    def place(self, path: str) -> FolderEntry:
        """Return where `path` leads. Raises ToolFailedError when that is outside, or can't be told."""
        if not path.strip() or "\0" in path:
            raise ToolFailedError("A path is missing." if not path.strip() else "A path can't hold a NUL.")
        asked = Path(path)
        if ".." in asked.parts:
            raise ToolFailedError(f"{path}: `..` is not followed; give the path from {self.roots[0]}.")
        candidates = [asked] if asked.is_absolute() else [root / asked for root in self.roots]
        asked = next((path for path in candidates if os.path.lexists(path)), candidates[0])
        try:
            real = Path(os.path.realpath(asked))
        except (OSError, ValueError) as error:
            raise ToolFailedError(f"{path} is not a path that can be used: {error}.") from error
        for root in self.roots:
            if real.is_relative_to(root):
                return FolderEntry(root, real.relative_to(root).parts, path)
        if any(asked.is_relative_to(root) for root in self.roots):
            raise ToolFailedError(f"{path} is a symbolic link to a place outside {self._named()}.")
        raise ToolFailedError(f"{path} is outside {self._named()}.")

    def _named(self) -> str:
        return " and ".join(map(str, self.roots))


async def allowed_folders(context: CallContext) -> Folders:
    """Return the client's roots that are folders of this machine; without any, the folder of the server's start."""
    uris = await context.roots()
    folders = [path for uri in uris or () if (path := _path_of(uri)) is not None and path.is_dir()]
    if uris and not folders:
        raise ToolFailedError("None of the client's roots is a folder of this machine.")
    return Folders(folders or [Path.cwd()])


def _path_of(uri: str) -> Path | None:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
        return None
    path = unquote(parts.path)
    return Path(path) if path.startswith("/") and "\0" not in path else None


def output_folder() -> Path:
    """Return the folder for new files: the one that FANOUT_FILES names, else the one that the server was started in."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named).expanduser().absolute() if named else Path.cwd()


def data_folder() -> Path:
    if home := os.environ.get("FANOUT_HOME"):
        return Path(home).expanduser().absolute() / "data"
    import platformdirs  # 10 ms

    return platformdirs.user_data_path("fanout", appauthor=False)


def file_name(name: str, suffix: str) -> str:
    """Return `name` as a name of a file that ends in `suffix`. Raises ToolFailedError for a path or nothing."""
    name = name.strip()
    if "/" in name or "\\" in name or any(ord(character) < 32 for character in name):
        raise ToolFailedError(f"`{name}` is not the name of a file: the file goes into {output_folder()}.")
    stem = name[: -len(suffix)] if name.lower().endswith(suffix) else name
    stem = stem.strip(" .")[:LONGEST_NAME].encode("utf-8", "replace")[: 2 * LONGEST_NAME].decode("utf-8", "ignore")
    if not stem:
        raise ToolFailedError("The name of the file is empty.")
    return stem + suffix


def name_from(title: str, suffix: str, fallback: str) -> str:
    """Return a plain name made from a title: `Parallel computing` gives `parallel_computing.pptx`."""
    words = "".join(character if character.isalnum() else " " for character in title.lower()).split()
    return file_name("_".join(words)[:60].strip("_") or fallback, suffix)


def save_new(name: str, content: bytes, mime: str) -> tuple[Path, dict[str, Any]]:
    """Write a new file called `name`, or `name-2` and so on where there is one; return its path and the block that
    links to it. Raises ToolFailedError."""
    folder = output_folder()
    stem, suffix = os.path.splitext(name)
    number = 1
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            path = folder / f"{stem}{'' if number == 1 else f'-{number}'}{suffix}"
            try:
                # Exclusive: a link of that name, even one that leads nowhere, counts as a file.
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
                break
            except FileExistsError:
                number += 1
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
        except OSError:
            path.unlink()
            raise
    except OSError as error:
        raise ToolFailedError(
            f"{name} can't be saved in {folder}: {(error.strerror or str(error)).lower()}."
        ) from error
    link = {"type": "resource_link", "uri": path.as_uri(), "name": path.name, "mimeType": mime, "size": len(content)}
    return path, link
