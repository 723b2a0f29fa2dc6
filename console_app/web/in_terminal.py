"""Becomes the console on the terminal that it was started on, which is made its own: both are hung up together."""

from __future__ import annotations

import fcntl
import os
import sys
import termios

if __name__ == "__main__":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.execv(sys.executable, [sys.executable, "-P", "-m", "console_app", *sys.argv[1:]])
