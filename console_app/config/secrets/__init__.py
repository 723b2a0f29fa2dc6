"""Secrets: how they are found, kept, hidden from texts, and held back from other programs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.config.secrets.credentials import Credentials as Credentials
    from console_app.config.secrets.credentials import FileCredentials as FileCredentials
    from console_app.config.secrets.credentials import StoredKeys as StoredKeys
    from console_app.config.secrets.credentials import UserCredentials as UserCredentials
    from console_app.config.secrets.credentials import address_of as address_of
    from console_app.config.secrets.credentials import is_stored as is_stored
    from console_app.config.secrets.credentials import with_key as with_key
    from console_app.config.secrets.redaction import RedactedStream as RedactedStream
    from console_app.config.secrets.redaction import Redactor as Redactor
    from console_app.config.secrets.redaction import WithoutSecrets as WithoutSecrets
    from console_app.config.secrets.redaction import keys_in as keys_in
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
