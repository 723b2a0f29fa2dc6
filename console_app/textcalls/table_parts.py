"""What rows of the table have in common: names and attributes in tags, and objects as most models write them."""

from console_app.textcalls.json_body import JsonBody

IDENT = r"\w[\w.\-]*"
JSON = JsonBody()
SEP = r"<\|sep\|>"
CALL = '{"name": "$name", "arguments": $arguments}'
PARAMETERS = '{"name": "$name", "parameters": $arguments}'


def tag(opening: str, attribute: str, group: str, end: str = ">", **others: str) -> str:
    """A pattern for a tag with attributes in any order: the value of `attribute` is matched as `group`; `others` are
    attributes that may be missing, with patterns of their values, each a group of its own name.
    """
    needed = rf"\s{attribute}\s*=\s*[\"']?(?P<{group}>[^\"'<>]+?)[\"']?(?:\s+[\w:.-]+\s*=|\s*{end})"
    optional = "".join(
        rf"(?:(?=[^<>]*?\s{name}\s*=\s*[\"'](?P<{name}>{value})[\"'])|)" for name, value in others.items()
    )
    return rf"{opening}(?=[^<>]*?{needed}){optional}\s[^<>]*{end}"


def label(*words: str) -> str:
    """A pattern for a label and its colon, as ReAct prompts and the models that follow them write it: in capitals, in
    bold, with a space before the colon.
    """
    written = f"(?:{'|'.join((*words, *(word.upper() for word in words)))})"
    return rf"(?:{written}[ \t]?:|\*\*{written}(?::\*\*|\*\*[ \t]?:))"


ACTION = label("Action")
ACTION_INPUT = label("Action Input")
