"""`make docs`: writes the pages that are made from the code."""

from __future__ import annotations

from tests.docs.made import FOLDER, pages

if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).parent.mkdir(exist_ok=True)
        (FOLDER / name).write_text(text, encoding="utf-8")
