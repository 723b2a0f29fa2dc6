"""Markdown as it streams: cut into units, parsed, laid out in rows, its open tail closed for a while."""
