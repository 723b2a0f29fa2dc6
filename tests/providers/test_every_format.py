"""Every wire format has a vendor, an SDK and bytes to be tested with: one that was forgotten fails here."""

from __future__ import annotations

from typing import get_args

from console_app.domain.settings import VENDOR_URLS, Api
from tests.wire_bytes import APIS


def test_every_format_has_a_vendor_and_is_tested() -> None:
    assert set(get_args(Api)) == set(VENDOR_URLS) == set(APIS)
