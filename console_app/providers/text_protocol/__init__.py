"""Tools by text: wraps any provider, offers the tools in the prompt and reads the calls out of the answer."""

from console_app.providers.text_protocol.provider import TextProtocol

__all__ = ["TextProtocol"]
