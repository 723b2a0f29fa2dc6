"""What it takes to know a call again that the model was given: `python -m benchmarks.bench_provenance`.

Seconds of processor time to go through what was given, 0.4 MB of each kind and 10 MB of pages, and to compare 1,000
calls with that. Both are done in a thread.

Measured on 28 November 2026, two cores shared with others, Python 3.11: 0.01 to 0.11 s to go through 0.4 MB, 0.26 s for
10 MB of pages, of which the newest 4 count; 0.7 to 1.2 s for the calls, and 6.3 s beside 4 MB.
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks.console import parser, row
from benchmarks.text import tokens
from console_app.domain import ToolSpec
from console_app.textcalls.provenance import GivenText, Provenance

SIZE = 400_000
CALLS = 1_000
TOOLS = [ToolSpec(name=f"files_tool_{n}", server="files", tool=f"tool_{n}") for n in range(40)]
WORDS = " ".join(tokens(SIZE // 4))[:SIZE]
HTML = "".join(f'<tr><td class="c{n}">{word}</td></tr>\n' for n, word in enumerate(WORDS.split()))[:SIZE]
KINDS = {
    "prose": WORDS,
    "HTML": HTML,
    "JSON in JSON": json.dumps(json.dumps([{"word": word, "at": n} for n, word in enumerate(WORDS.split())]))[:SIZE],
    "letters of Russian": WORDS.translate(str.maketrans("aeopcx", "аеорсх")),
    "log lines": "\n".join(f"2026-11-24 03:00:00,{n % 1000:03} INFO {word}" for n, word in enumerate(WORDS.split()))[
        :SIZE
    ],
}


def taken(texts: list[str]) -> tuple[float, float]:
    """Seconds to go through the texts, and to ask both questions of the calls: each text names the tool."""
    provenance, tool = Provenance(), TOOLS[7]
    provenance.give([GivenText("a result", f"{text}\nfiles_tool_7") for text in texts])
    begun = time.process_time()
    provenance.prepare()
    ready = time.process_time()
    for n in range(CALLS):
        arguments = {"path": f"notes/number-{n:05}.txt", "content": f"Words of a file of its own, the {n}th."}
        provenance.quoted(tool.name, tool.tool, tool.server, arguments, json.dumps(arguments))
        provenance.dictated(tool.name, tool.tool, arguments, list(arguments))
    return ready - begun, time.process_time() - ready


def main(argv: list[str] | None = None) -> None:
    parser(__doc__).parse_args(argv)
    for kind, text in KINDS.items():
        first, calls = taken([text])
        row(f"{len(text) / 1e6:.1f} MB of {kind}", f"{first:.2f} s", f"{calls:.2f} s for {CALLS:,} calls")
    first, calls = taken([f"page {n}\n{HTML[:100_000]}" for n in range(100)])
    row("10 MB in 100 pages, of which the newest count", f"{first:.2f} s", f"{calls:.2f} s for {CALLS:,} calls")


if __name__ == "__main__":
    main(sys.argv[1:])
