# SPDX-License-Identifier: MIT
"""Terminals, for tests of what is said to one. A system without /dev/pts (a plain chroot) has none: the test is skipped."""
import os
import pty

import pytest


def pair():
    """ours, theirs: the two ends of a terminal"""
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"this system has no terminals (/dev/pts): {error}")


def require():
    for end in pair():
        os.close(end)
