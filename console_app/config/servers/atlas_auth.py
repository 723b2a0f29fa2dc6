"""How Atlas writes the way to prove who we are (`auth_type`, `auth_token`, `auth_header` and the `callback_port` of
`oauth_config`), as `auth` and `headers`."""

from __future__ import annotations

from typing import Any, Final, cast

KEYS: Final = frozenset({"auth_type", "auth_token", "auth_header", "oauth_config"})
_KINDS: Final = ("none", "api_key", "bearer", "jwt", "oauth")
_HEADER: Final = "X-API-Key"


def with_auth(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a server with `auth` and `headers` in place of Atlas's keys. Raises ValueError, for people."""
    if not KEYS & fields.keys():
        return fields
    own = {key: value for key, value in fields.items() if key not in KEYS}
    kind, token, header = (str(fields.get(key) or "").strip() for key in ("auth_type", "auth_token", "auth_header"))
    signing_in: Any = fields.get("oauth_config")
    kind = kind.lower() or ("api_key" if header else "bearer" if token else "oauth" if signing_in else "none")
    if kind not in _KINDS:
        raise ValueError(f"`auth_type` is {kind!r}; known are {', '.join(_KINDS)}")
    if "auth" in own:
        raise ValueError("has both `auth` and `auth_type`: keep one")
    if kind in ("api_key", "bearer", "jwt") and not token:
        raise ValueError(f"`auth_type` {kind} needs an `auth_token`")
    if header and kind != "api_key":
        raise ValueError(f"`auth_header` goes with `auth_type` api_key, not {kind}")
    own["auth_type"] = kind
    match kind:
        case "api_key":
            headers: Any = own.get("headers") or {}
            given = cast("dict[str, Any]", headers) if isinstance(headers, dict) else {}
            return own | {"headers": {**given, header or _HEADER: token}, "auth": "none"}
        case "bearer" | "jwt":
            return own | {"auth": {"type": "bearer", "token": token}}
        case _:
            port = cast("dict[str, Any]", signing_in).get("callback_port") if isinstance(signing_in, dict) else None
            own_port = kind == "oauth" and port is not None
            return own | {"auth": {"type": kind, "redirect_port": port} if own_port else kind}


def without_effect(fields: dict[str, Any]) -> dict[str, str]:
    """Which of Atlas's keys change nothing for this server, and why, for people."""
    found: dict[str, str] = {}
    signing_in: Any = fields.get("oauth_config")
    if isinstance(signing_in, dict) and (more := sorted(cast("dict[str, Any]", signing_in).keys() - {"callback_port"})):
        found["oauth_config"] = f"only its `callback_port` is read, not {', '.join(f'`{key}`' for key in more)}"
    if fields.get("command") and not fields.get("url"):
        why = "has no effect: a program that is started signs in nowhere; what it needs goes into `env`"
        kind = str(fields.get("auth_type") or "none").lower()
        found |= {key: why for key in ("auth_token", "auth_header", "oauth_config") if fields.get(key)}
        found |= {"auth_type": why} if kind != "none" else {}
    return found
