"""The parts of the MCP SDK that it doesn't promise and the console needs: every use, with its reason, read in 2.3.0.

`tests/program/test_library_internals.py` holds the table against the SDK that is installed and against the code.
"""

from __future__ import annotations

from typing import Final

# module:Class.name, of a method with its parameters; and where and why it is used. Text, as the SDK loads slowly.
INTERNALS: Final[dict[str, str]] = {
    "async mcp.shared._stream_protocols:ReadStream.receive()": "wire.py stands between the SDK and any transport",
    "async mcp.shared._stream_protocols:ReadStream.aclose()": "wire.py stands between the SDK and any transport",
    "async mcp.shared._stream_protocols:WriteStream.send(item)": "wire.py stands between the SDK and any transport",
    "async mcp.shared._stream_protocols:WriteStream.aclose()": "wire.py stands between the SDK and any transport",
    "mcp.shared._context_streams:ContextReceiveStream.last_context": (
        "wire.py: which request a message came with, over streamable HTTP; the SDK reads it with getattr, too"
    ),
    "async mcp.client.session:ClientSession.validate_tool_result(name, result)": (
        "session.py puts schemas.py in its place: the SDK's judging of a result is not bounded"
    ),
    "async mcp.client.auth:OAuthClientProvider._initialize()": (
        "oauth.py overrides it: without expiry and endpoints an expired token is thrown away, never refreshed"
    ),
    "mcp.client.auth:OAuthClientProvider._auth_flow(request)": (
        "The SDK sends a sign-in's steps wherever servers say: oauth.py judges each before it is sent."
    ),
    "mcp.shared._httpx_utils:RedirectAwareAuth._auth_flow(request)": "The base class of the same in oauth.py.",
    "async mcp.client.auth:OAuthClientProvider._handle_refresh_response(response)": (
        "The SDK logs an answer that does not fit, with the token in it: oauth.py looks first."
    ),
    "async mcp.client.auth:OAuthClientProvider._handle_token_response(response)": (
        "oauth.py overrides it: keeps the endpoints for the next run"
    ),
    "async mcp.client.auth:OAuthClientProvider._perform_authorization_code_grant()": (
        "oauth.py overrides it: a call's deadline is held while you sign in"
    ),
    "async mcp.client.auth:OAuthClientProvider._exchange_token_authorization_code(auth_code, code_verifier)": (
        "oauth.py overrides it: the client's secret goes in the way that the server takes it"
    ),
    "mcp.client.auth:OAuthClientProvider._select_authorization_server(advertised)": (
        "oauth.py overrides it: a client's secret goes to the issuer that mcp.json names, and to no other"
    ),
    "async mcp.client.auth:OAuthClientProvider._perform_authorization()": (
        "oauth.py overrides it for the same; oauth.py is granted its token another way"
    ),
    "mcp.client.auth:OAuthClientProvider._get_token_endpoint()": "oauth.py: where the token is asked for",
    "mcp.client.auth:OAuthClientProvider.context": "oauth.py: the state that is kept between runs",
    "mcp.client.auth.oauth2:OAuthContext.token_expiry_time": "oauth.py: kept between runs",
    "mcp.client.auth.oauth2:OAuthContext.oauth_metadata": "oauth.py: kept between runs",
    "mcp.client.auth.oauth2:OAuthContext.protected_resource_metadata": "oauth.py: kept between runs",
    "mcp.client.auth.oauth2:OAuthContext.auth_server_url": "oauth.py: kept between runs",
    "mcp.client.auth.oauth2:OAuthContext.client_info": "oauth.py: how the client's secret is sent",
}
