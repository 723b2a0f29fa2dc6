"""A server that reads one public page as text. Run it as `python -m console_app.servers.web`.

A page is fetched from the host that was asked for, and from no private network. FANOUT_SEARCH_PRIVATE=1 in its `env`
lets it lie on any network.
"""

from __future__ import annotations

import os

from console_app.servers.parts.server import Arguments, CallContext, StdioServer, Tool, ToolFailedError, schema
from console_app.servers.parts.web_pages import PageError, PageFetcher, is_public

LONGEST = 30_000  # characters of a page


async def fetch(arguments: Arguments, context: CallContext) -> str:
    private = os.environ.get("FANOUT_SEARCH_PRIVATE") == "1"
    fetcher = PageFetcher(is_allowed=(lambda _: True) if private else is_public, longest=LONGEST, same_host=True)
    try:
        return await fetcher.text(arguments["url"]) or "[the page has no text]"
    except PageError as error:
        raise ToolFailedError(f"The page can't be read: {error}.") from error


_HINTS = {"title": "Read a web page", "openWorldHint": True}
TOOLS = (Tool(fetch, "Reads one public web page as text.", {"url": schema("string")}, _HINTS),)


if __name__ == "__main__":
    StdioServer("fanout-web", TOOLS).run()
