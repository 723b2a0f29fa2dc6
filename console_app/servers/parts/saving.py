"""New files of a server: in one folder, under a name that nothing else has. Nothing is ever overwritten."""

from __future__ import annotations

import os
from pathlib import Path

from console_app.servers.parts.tool import FileLink, ToolFailedError

FOLDER_VARIABLE = "FANOUT_FILES"
LONGEST_NAME = 100  # characters, without the suffix


def output_folder() -> Path:
    """Return the folder for new files: the one that FANOUT_FILES names, else the one that the server was started in."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named).expanduser().absolute() if named else Path.cwd()


def file_name(name: str, suffix: str) -> str:
    """`name` as a name of a file that ends in `suffix`. Raises ToolFailedError for a path, or for nothing at all."""
    name = name.strip()
    if "/" in name or "\\" in name or any(ord(character) < 32 for character in name):
        raise ToolFailedError(f"`{name}` is not the name of a file: the file goes into {output_folder()}.")
    stem = name[: -len(suffix)] if name.lower().endswith(suffix) else name
    stem = stem.strip(" .")[:LONGEST_NAME].encode("utf-8", "replace")[: 2 * LONGEST_NAME].decode("utf-8", "ignore")
    if not stem:
        raise ToolFailedError("The name of the file is empty.")
    return stem + suffix


def name_from(title: str, suffix: str, fallback: str) -> str:
    """A plain name made from a title: `Parallel computing` gives `parallel_computing.pptx`."""
    words = "".join(character if character.isalnum() else " " for character in title.lower()).split()
    return file_name("_".join(words)[:60].strip("_") or fallback, suffix)


def save_new(name: str, content: bytes, mime: str) -> FileLink:
    """Write a new file called `name`, or `name-2` and so on where there is one. Raises ToolFailedError."""
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
    return FileLink(path, mime, len(content))
