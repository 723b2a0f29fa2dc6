"""Prints the page about dialects: `python -m console_app.textcalls > docs/dialects.md`."""

import sys

from console_app.textcalls.page import page

sys.stdout.write(page())
