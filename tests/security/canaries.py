"""Forty secrets, the places they stand in, and a search for them that shares no code with the program's own.

Servers give back all that they were given, on every way they have: stderr, errors, results, descriptions and notices.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

from console_app.config.files import Paths
from console_app.config.secrets import FileCredentials
from console_app.config.servers import ServerConfig
from console_app.mcp_client.connecting.sign_in import StoredSignIn, plan_of
from tests.program.process import Fanout
from tests.served import served

_ODD = '/+ä"<é&%'  # what encodings change


def _canary(number: int) -> str:
    digest = hashlib.sha256(f"canary {number}".encode()).hexdigest()
    return f"Canary{number:02}{digest[:14]}"


CANARIES = [_canary(number) + (_ODD if number < 6 else "") for number in range(41)]
(ODD_ENV, PLAIN_ENV, ARGUMENTS, HEADERS, URLS, AUTH, CONFIG, KEPT, VARIABLES) = (
    CANARIES[0:6],
    CANARIES[6:12],
    CANARIES[12:14],
    CANARIES[14:19],
    [*CANARIES[19:23], CANARIES[40]],
    CANARIES[23:25],
    CANARIES[25:29],
    CANARIES[29:34],
    CANARIES[34:40],
)

# Says everything it knows of itself: with `fail` before it ends, else to whoever asks.
SERVER = """
import base64, json, os, sys, urllib.parse
own = {name: value for name, value in os.environ.items() if name.startswith(("ODD", "PLAIN"))}
texts = [*sys.argv[1:], *own.values(), *os.environ.values()]  # its secrets first, before anything is cut
told = {"arguments": sys.argv[1:], **own, **os.environ}
forms = [json.dumps(told), json.dumps(told, ensure_ascii=False), repr(told), urllib.parse.urlencode({**os.environ})]
forms += [base64.b64encode(b"x" * n + t.encode()).decode() for t in texts for n in range(3)]
forms += [t.encode().hex() for t in texts] + texts
for form in forms:
    data = (form + "\\n").encode()
    for begin in range(0, len(data), 37):  # in pieces, as a program without a buffer writes
        sys.stderr.buffer.write(data[begin:begin + 37])
        sys.stderr.buffer.flush()
if "fail" in sys.argv:
    sys.exit("it ended, knowing " + " ".join(texts))
everything = "\\n".join(forms)
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, result = message["method"], {}
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "logging": {}},
                  "serverInfo": {"name": everything[:2000], "version": "1"}, "instructions": everything}
        send(method="notifications/message", params={"level": "warning", "data": told})
    elif method == "tools/list":
        tool = {"name": "environment", "description": everything, "inputSchema": {"type": "object"}}
        result = {"tools": [tool, {**tool, "name": "fails"}, {"name": everything, "inputSchema": 5}]}
    elif method == "tools/call":
        token = message["params"].get("_meta", {}).get("progressToken")
        send(method="notifications/message", params={"level": "error", "data": everything})
        send(method="notifications/progress", params={"progressToken": token, "progress": 1, "message": everything})
        if message["params"]["name"] == "fails":
            send(id=message["id"], error={"code": -32000, "message": everything, "data": told})
            continue
        result = {"content": [{"type": "text", "text": everything}], "structuredContent": told}
    send(id=message["id"], result=result)
"""


class _Echo(BaseHTTPRequestHandler):
    """Refuses everything with all that was sent: requests of MCP with an error of the protocol, others with 400."""

    def do_GET(self) -> None:
        self._refuse(0, 400)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        self._refuse(asked.get("id", 0), 200 if "jsonrpc" in asked else 400)

    def do_DELETE(self) -> None:
        self._refuse(0, 400)

    def _refuse(self, number: int, status: int) -> None:
        secret = {name: value for name, value in self.headers.items() if name.lower() != "user-agent"}
        told = f"{self.path} {self.headers.get('authorization', '')} {secret}"
        body = json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": -32001, "message": told}}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@contextmanager
def echo() -> Generator[str]:
    """A web server that gives back what it is sent; yields `127.0.0.1:PORT`."""
    with served(ThreadingHTTPServer(("127.0.0.1", 0), _Echo)) as url:
        yield url.removeprefix("http://")


def servers(script: Path, host: str) -> dict[str, dict[str, Any]]:
    """The entries of mcp.json."""
    odd = {f"ODD_{number}_TOKEN": value for number, value in enumerate(ODD_ENV)}
    plain = {f"PLAIN_{number}": value for number, value in enumerate(PLAIN_ENV)}
    basic = base64.b64encode(f"me:{HEADERS[1]}".encode()).decode()
    user, password, first, second, third = URLS
    client = {"type": "oauth", "client_id": "public", "client_secret": AUTH[1]}
    cookie = {"Cookie": f"id={HEADERS[3]}", "X-Api-Key": HEADERS[4]}
    bearer = {"Authorization": f"Bearer {HEADERS[0]}", "X-Any": HEADERS[2]}
    program = {"command": sys.executable, "args": [str(script), "--api-key", ARGUMENTS[0], f"--token={ARGUMENTS[1]}"]}
    return {
        "spy": {**program, "env": {**odd, **plain}},
        "broken": {"command": sys.executable, "args": [str(script), "fail"], "env": {**odd, **plain}},
        "bearer": {"url": f"http://{host}/a", "headers": bearer},
        "basic": {"url": f"http://{host}/b", "headers": {"Authorization": f"Basic {basic}", **cookie}},
        "query": {
            "url": f"http://{user}:{password}@{host}/c/{third}/mcp?key={first}&project={quote(second)}",
            "auth": "none",
        },
        "older": {"url": f"http://{host}/d?t={first}", "type": "sse", "auth": {"type": "bearer", "token": AUTH[0]}},
        "oauth": {"url": f"http://{host}/e", "auth": client},
    }


def config(host: str) -> str:
    """config.toml: a provider whose keys stand in headers, in its URL and in a variable of any name."""
    return f"""
[providers.mine]
api = "openai-chat"
base_url = "http://name:{CONFIG[0]}@{host}/v1"
api_key_env = "ANY_NAME"
model = "m"
headers = {{ X-Org = "{CONFIG[1]}", Authorization = "Bearer {CONFIG[2]}", X-Trace = "{CONFIG[3]}" }}
"""


VARIABLES_SET = {
    "OPENAI_API_KEY": VARIABLES[0],
    "GITHUB_TOKEN": VARIABLES[1],
    "AWS_SECRET_ACCESS_KEY": VARIABLES[2],
    "DATABASE": f"postgres://app:{VARIABLES[3]}@db.test/x",
    "ANY_NAME": VARIABLES[4],
    "MY_PASSWORD": VARIABLES[5],
}


async def keep(fanout: Fanout, host: str) -> None:
    """Stores tokens of the servers `oauth` and `basic`, as a sign-in would."""
    entry = servers(Path("x"), host)["oauth"]
    server = ServerConfig(name="oauth", **entry)
    stored = StoredSignIn(FileCredentials(fanout.home / "data" / "credentials.json"), server, plan_of(server))
    await stored.update(
        tokens={"access_token": KEPT[0], "refresh_token": KEPT[1], "token_type": "Bearer"},
        client={"client_id": "public", "client_secret": KEPT[2], "redirect_uris": ["http://127.0.0.1:9/callback"]},
    )


def forms(secret: str) -> dict[str, bytes]:
    """Return the forms to look for: the secret as it is and as writers may have encoded it."""
    data = secret.encode()
    plain = secret[:22]  # without the odd characters: a form of these alone would be no secret
    found = {
        "itself": data,
        "its plain part": plain.encode(),
        "URL": quote(secret, safe="").encode(),
        "JSON": json.dumps(secret)[1:-1].encode(),
        "hex": plain.encode().hex().encode(),
    }
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + data)
        # Whole groups of four characters that hold nothing but the secret.
        begin, end = (4 if shift else 0), (shift + len(data)) // 3 * 4
        found[f"base64 at {shift}"] = whole[begin:end][:16]
    return found


def leaks(named: Mapping[str, bytes]) -> list[str]:
    """Which secret stands where, and in which form."""
    return [
        f"{CANARIES.index(secret):02} as {form} in {where}"
        for secret in CANARIES
        for form, wanted in forms(secret).items()
        for where, data in named.items()
        if wanted in data
    ]


def files(fanout: Fanout) -> dict[str, bytes]:
    """All files below the home and the working folder but those that the secrets were written to on purpose."""
    known = Paths.find(fanout.environment())
    given = {known.mcp, known.settings, known.credentials, known.data / "keys.json"}
    folders = (fanout.home, fanout.cwd)
    paths = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path not in given]
    return {str(path): path.read_bytes() for path in paths if path.name != "mcp.json"}
