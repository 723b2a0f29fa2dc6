"""The client that the MCP conformance suite runs: our hub, driven as a user would drive it.

The suite appends the server's address to the command and names the scenario in the environment. The driver connects,
signs in where the server wants that, calls the tools that the scenario is about and leaves; everything that is judged
is the product's own doing. The user is played here: every form is accepted as proposed, and the page to sign in on is
followed to where it leads.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import mcp.client.session

from console_app.config.servers import ServerConfig
from console_app.domain.chunks import UsageChunk
from console_app.domain.events import Level, OutputStream
from console_app.domain.ports import Invocation
from console_app.domain.questions import Elicitation, ElicitationAnswer, SamplingRequest
from console_app.domain.schema import forms
from console_app.domain.tools import ToolResult, ToolSpec
from console_app.mcp_client import Asking, Hub, ServerState

CLIENT_METADATA_URL = "https://conformance-test.local/client-metadata.json"
SECONDS = 500.0  # that a server may take
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
PROOFS = {"client_secret": "client_secret", "private_key": "private_key_pem", "signing_algorithm": "signing_algorithm"}
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")


class Agreeable:
    """A user who takes every form as it is proposed, and agrees to everything."""

    async def ask(self, question: Elicitation) -> ElicitationAnswer:
        fields = forms.fields_asked(question.schema)
        return ElicitationAnswer("accept", {one.name: one.default for one in fields if one.default is not None})

    async def allow_sampling(self, request: SamplingRequest) -> bool:
        return True


class Silent:
    """A reporter that nobody listens to."""

    def progress(self, progress: float, total: float | None, message: str | None) -> None: ...

    def log(self, level: Level, text: str, *, dropped: int = 0) -> None: ...

    def output(self, stream: OutputStream, text: str, *, dropped: int = 0) -> None: ...

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()

    def asked(self, what: str, *, sure: bool = True) -> None: ...

    def answered(self, what: str, how: str) -> None: ...

    def used(self, usage: UsageChunk) -> None: ...


async def follow(url: str) -> None:
    """The browser: goes where the page leads, at last to our own port."""
    async with httpx2.AsyncClient(follow_redirects=True) as client:
        await client.get(url)


async def issuer(url: str) -> str:
    """Who gave a program its secret: its owner knows, here the server is asked."""
    parts = urlsplit(url)
    async with httpx2.AsyncClient() as client:
        for path in (parts.path, ""):
            found = await client.get(f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{path}")
            if found.is_success:
                return found.json()["authorization_servers"][0]
    return ""


async def config(url: str) -> ServerConfig:
    auth: dict[str, Any] = {"type": "oauth", "client_metadata_url": CLIENT_METADATA_URL}
    if "client_id" in CONTEXT:
        auth |= {"client_id": CONTEXT["client_id"], "client_secret": CONTEXT.get("client_secret", "")}
    if SCENARIO.startswith("auth/client-credentials-"):
        own = {key: CONTEXT[name] for key, name in PROOFS.items() if name in CONTEXT}
        auth = {"type": "client_credentials", "client_id": CONTEXT["client_id"], "issuer": await issuer(url), **own}
    return ServerConfig(name="server", url=url, transport="http", auth=auth, timeout=SECONDS)


async def call(hub: Hub, spec: ToolSpec, arguments: dict[str, Any]) -> ToolResult:
    result = await hub.call(Invocation(f"call-{spec.tool}", spec, arguments), Silent())
    print(f"{spec.tool}({arguments}): {result.outcome} {result.content[:200]}")
    return result


def arguments_for(spec: ToolSpec) -> dict[str, Any]:
    """Something that valid's schema: its required arguments."""
    values: dict[str, Any] = {"string": "text", "number": 2, "integer": 2, "boolean": True, "array": [], "object": {}}
    properties = spec.input_schema.get("properties", {})
    return {
        name: values.get(properties.get(name, {}).get("type"), "text") for name in spec.input_schema.get("required", ())
    }


async def work(hub: Hub) -> None:
    tools = {spec.tool: spec for spec in hub.tools()}
    print(f"tools: {', '.join(tools) or 'none'}")
    if "toolCalls" in CONTEXT:
        for wanted in CONTEXT["toolCalls"]:
            await call(hub, tools[wanted["name"]], wanted.get("arguments", {}))
        return
    if SCENARIO == "json-schema-2020-12-preservation":
        focal, echo = tools.values()
        await call(hub, echo, {"schema": focal.input_schema})
        return
    await asyncio.gather(*(call(hub, spec, arguments_for(spec)) for spec in tools.values()))


async def main() -> int:
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    # The SDK gives a server 10 s to say that it is a new one, the sign-in included; all scenarios start at once.
    mcp.client.session.DISCOVER_TIMEOUT_SECONDS = SECONDS
    url = sys.argv[-1]
    with tempfile.TemporaryDirectory() as folder:
        asking = Asking(Agreeable(), roots=(Path(folder),), open_url=follow)
        hub = Hub([await config(url)], log_dir=Path(folder, "logs"), files_dir=Path(folder, "files"), asking=asking)
        try:
            await hub.start()
            await hub.ready()
            (status,) = hub.statuses()
            if status.state is ServerState.NEEDS_SIGN_IN:
                status = await hub.sign_in("server")
            print(f"{SCENARIO}: {status.state} {status.protocol_version} {status.reason}")
            if status.state is not ServerState.READY:
                return 1
            await work(hub)
        finally:
            await hub.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
