"""Gets one document by HTTP, of a size and in a time: what a registry answers."""

from __future__ import annotations

from collections.abc import Mapping

from console_app.domain import errors, one_line

_SECONDS = 15.0


async def fetched(address: str, most: int, params: Mapping[str, str | int] | None = None) -> bytes:
    """Return what the registry at `address` answers, at most `most` bytes. Raises ServerError where it gives none."""
    import httpx2

    try:
        async with (
            httpx2.AsyncClient(timeout=_SECONDS, follow_redirects=False) as client,
            client.stream("GET", address, params=dict(params or {})) as answer,
        ):
            if answer.status_code != 200:
                raise errors.ServerError(f"the registry answered with status {answer.status_code}")
            body = bytearray()
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > most:
                    raise errors.ServerError(f"the registry answered with more than {most:,} bytes")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise errors.ServerError(
            f"the registry gave no answer: {one_line(str(error) or type(error).__name__, 200)}"
        ) from None
    return bytes(body)
