"""No two files of Fanout import each other, not even through others, and not even for types alone."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp


def test_imports_go_one_way() -> None:
    graph = grimp.build_graph("console_app", cache_dir=None, exclude_type_checking_imports=False)
    files = TopologicalSorter({file: graph.find_modules_directly_imported_by(file) for file in graph.modules})
    files.prepare()  # raises CycleError with the files of a cycle
