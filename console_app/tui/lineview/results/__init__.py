"""Results rendered as what they are: diff, source, JSON tree, Markdown, table, or text with its colours."""
