"""Secrets: how they are found, kept, hidden from texts, and held back from other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.config.secrets.child_environment import for_consoles as for_consoles
    from console_app.config.secrets.child_environment import for_own_programs as for_own_programs
    from console_app.config.secrets.child_environment import for_servers as for_servers
    from console_app.config.secrets.credentials import Credentials as Credentials
    from console_app.config.secrets.credentials import FileCredentials as FileCredentials
    from console_app.config.secrets.credentials import StoredKeys as StoredKeys
    from console_app.config.secrets.credentials import UserCredentials as UserCredentials
    from console_app.config.secrets.credentials import address_of as address_of
    from console_app.config.secrets.credentials import is_stored as is_stored
    from console_app.config.secrets.credentials import with_key as with_key
    from console_app.config.secrets.key_shapes import HIDDEN as HIDDEN
    from console_app.config.secrets.key_shapes import has_key as has_key
    from console_app.config.secrets.redaction import RedactedStream as RedactedStream
    from console_app.config.secrets.redaction import Redactor as Redactor
    from console_app.config.secrets.redaction import WithoutSecrets as WithoutSecrets
    from console_app.config.secrets.redaction import redactor_in_use as redactor_in_use
    from console_app.config.secrets.secret_sources import may_be_secret as may_be_secret
    from console_app.config.secrets.secret_sources import secrets_of_arguments as secrets_of_arguments
    from console_app.config.secrets.secret_sources import secrets_of_auth as secrets_of_auth
    from console_app.config.secrets.secret_sources import secrets_of_headers as secrets_of_headers
    from console_app.config.secrets.secret_sources import secrets_of_kept as secrets_of_kept
    from console_app.config.secrets.secret_sources import secrets_of_url as secrets_of_url
else:
    from console_app.door import door

    __getattr__ = door(
        __name__,
        {
            "child_environment": "for_consoles for_own_programs for_servers",
            "credentials": "Credentials FileCredentials StoredKeys UserCredentials address_of is_stored with_key",
            "key_shapes": "HIDDEN has_key",
            "redaction": "RedactedStream Redactor WithoutSecrets redactor_in_use",
            "secret_sources": (
                "may_be_secret secrets_of_arguments secrets_of_auth secrets_of_headers secrets_of_kept secrets_of_url"
            ),
        },
    )
