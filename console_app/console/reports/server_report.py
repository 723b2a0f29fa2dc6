"""All that is known of a server, as text: its state, what it offers and can do, and what it tells the model."""

from __future__ import annotations

from console_app.domain import plural
from console_app.mcp_client import ServerStatus, Traffic


def server_report(status: ServerStatus, traffic: Traffic, ping: str, wire: str) -> str:
    """Secrets and all; `ping` says how the newest went, `wire` where the messages are to be seen."""
    theirs, ours = traffic.capabilities
    dropped = f", {traffic.dropped:,} dropped" if traffic.dropped else ""
    lines = [
        *_facts(status),
        f"ping       {ping}",
        f"wire       {plural(len(traffic), 'message')}{dropped}: {wire}",
    ]
    if traffic.handshake is None:
        lines += ["", "The connection is not initialized yet."]
    else:
        lines += ["", "The server says that it", *(f"  {line}" for line in theirs or ["can do nothing"])]
        lines += ["", "Fanout offered it that it", *(f"  {line}" for line in ours or ["can do nothing"])]
    if status.rejected:
        lines += ["", "Tools that can't be offered", *(f"  {one.name}: {one.reason}" for one in status.rejected)]
    if status.problems:
        lines += ["", "Lists that are not whole", *(f"  {one}" for one in status.problems)]
    if status.instructions:
        lines += ["", "What it tells the model about itself", status.instructions]
    return "\n".join(lines)


def _facts(status: ServerStatus) -> list[str]:
    counts = ((status.tools, "tool"), (status.prompts, "prompt"), (status.resources, "resource"))
    rows = [
        ("state", status.state.value + (f": {status.reason}" if status.reason else "")),
        ("server", status.server_info),
        ("about", status.description),
        ("runs", status.runs),
        ("spoken", " · ".join(part for part in (status.transport, status.protocol_version) if part)),
        ("offers", ", ".join(plural(count, what) for count, what in counts)),
        ("log", str(status.log_path or "")),
        *((what, text) for what, _, text in (fact.partition(" ") for fact in status.facts)),
    ]
    return [f"{name:<10} {text}" for name, text in rows if text]
