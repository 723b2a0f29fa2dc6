"""A program that signs in as itself, without a user: OAuth's client credentials, with a secret or a signed assertion.

Source: MCP's extension `oauth-client-credentials`; RFC 6749, section 4.4; RFC 7523, section 2.2.
"""

from __future__ import annotations

import httpx2
from mcp.client.auth.extensions.client_credentials import SignedJWTParameters
from mcp.shared.auth import OAuthClientMetadata

from console_app.mcp_client.auth.callback import SignInRefused
from console_app.mcp_client.auth.oauth import StoredTokens
from console_app.mcp_client.auth.oauth_steps import GuardedSteps
from console_app.mcp_client.auth.sign_in import AuthPlan, StoredSignIn

_GRANT = "client_credentials"
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class MachineSignIn(GuardedSteps):
    """Gets a token with what mcp.json holds, whenever the server wants one. Nobody is asked."""

    def __init__(self, url: str, plan: AuthPlan, stored: StoredSignIn) -> None:
        client = OAuthClientMetadata(redirect_uris=None, grant_types=[_GRANT])
        super().__init__(url, plan, stored, client, StoredTokens(stored, plan))

    async def _grant(self) -> httpx2.Request:
        context, plan = self.context, self._plan
        data = {"grant_type": _GRANT}
        if plan.private_key:
            data |= {"client_assertion": await self._assertion(), "client_assertion_type": _ASSERTION}
        self._fit_client_authentication()
        data, headers = context.prepare_token_auth(data, {"Content-Type": "application/x-www-form-urlencoded"})
        if context.should_include_resource_param(context.protocol_version):
            data["resource"] = context.get_resource_url()
        if plan.scope:
            context.client_metadata.scope = plan.scope  # what the server would have is wider, or unsaid
        if context.client_metadata.scope:
            data["scope"] = context.client_metadata.scope
        return httpx2.Request("POST", self._get_token_endpoint(), data=data, headers=headers)

    async def _assertion(self) -> str:
        plan, metadata = self._plan, self.context.oauth_metadata
        assert metadata is not None, "whose issuer was looked at"
        signing = SignedJWTParameters(
            issuer=plan.client_id,
            subject=plan.client_id,
            signing_key=plan.private_key,
            signing_algorithm=plan.signing_algorithm,
        )
        try:
            return await signing.create_assertion_provider()(str(metadata.issuer))
        except Exception as error:  # of pyjwt and cryptography, whose words may hold parts of the key
            what = f"can't sign {plan.signing_algorithm} ({type(error).__name__})"
            raise SignInRefused(f"`auth.private_key` {what}; `auth.signing_algorithm` says another") from None
