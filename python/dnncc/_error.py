# SPDX-License-Identifier: MIT
"""What is raised."""
from __future__ import annotations

import errno
import os
import re
from typing import Any


class Error(Exception):
    """What the compiler, the C compiler or a run says.

    code (int): an exit code of the command line (1 usage, 2 cannot read or write, 3 invalid model, 4 unsupported, 5 budget
    exceeded, 70 internal error), or the negative code that a run ended with. text (str): what was said."""

    code: int
    text: str

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.text)


class ArgumentError(Error, ValueError):
    """Wrong arguments: code 1. It is a ValueError, too."""

    def __init__(self, text: str) -> None:
        super().__init__(1, text)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text,)


class MissingFileError(Error, FileNotFoundError):
    """A file is not there: code 2. It is a FileNotFoundError, too; filename (str) names the file."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(2, text)
        self.errno, self.strerror, self.filename = errno.ENOENT, os.strerror(errno.ENOENT), path

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.filename, self.text)


def cannot_read(path: str, error: OSError, said: str | None = None) -> Error:
    """the Error for a file that could not be opened or read; said: in which words"""
    said = said or f"{path}: error: cannot read {path}: {error.strerror}"
    return MissingFileError(path, said) if isinstance(error, FileNotFoundError) else Error(2, said)


def of_compiler(code: int, text: str) -> Error:
    """the Error for what the compiler said when it ended with this code"""
    missing = re.search(rf"cannot read (.+): {os.strerror(errno.ENOENT)}", text) if code == 2 else None
    return MissingFileError(missing[1], text) if missing else Error(code, text)
