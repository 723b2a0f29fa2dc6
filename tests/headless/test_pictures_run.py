"""A picture that a real server's tool gives reaches the model, from the server's bytes to the request."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import pytest

from tests.headless.inside import Inside
from tests.wire_bytes import APIS, Answer, Api, Call, Text
from tests.wire_server import WireServer

SERVER = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "sdk_server.py"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n picture").decode()


@pytest.mark.parametrize("api", APIS)
def test_a_picture_of_a_tool_reaches_the_model(fanout: Inside, server: WireServer, api: Api) -> None:
    server.script(Answer(Call("sdk_media")), Answer(Text("A picture.")))
    mcp = {"mcpServers": {"sdk": {"command": sys.executable, "args": [str(SERVER)]}}}
    file = fanout.write("servers.json", json.dumps(mcp))
    table = f'[providers.lab]\napi = "{api}"\nbase_url = "{server.base_url(api)}"\n'
    fanout.write("home/config.toml", table)
    done = fanout.run("run", "-m", "lab/m", "--mcp-config", str(file), "--approval-mode", "yolo", "go")
    assert done.code == 0, done.err
    first, second = (json.dumps(one.body) for one in server.requests)
    assert PNG not in first
    assert second.count(PNG) == 1
    assert "the picture goes to models that see" in second
