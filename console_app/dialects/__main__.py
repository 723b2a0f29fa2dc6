"""Prints the page about dialects: `python -m console_app.dialects > docs/dialects.md`."""

import sys

from console_app.dialects.page import page

sys.stdout.write(page())
