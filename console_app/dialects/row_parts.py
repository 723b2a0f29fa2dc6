"""What rows of the table have in common: names and attributes in tags, and objects as most models write them."""

from console_app.dialects.json_body import JsonBody

IDENT = r"\w[\w.\-]*"
QUOTED = r"\s*=\s*[\"']?(?P<{0}>[^\"'<>]+?)[\"']?\s*"
JSON = JsonBody()
CALL = '{"name": "$name", "arguments": $arguments}'
PARAMETERS = '{"name": "$name", "parameters": $arguments}'
