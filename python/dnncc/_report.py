# SPDX-License-Identifier: MIT
"""The page of --report, as notebooks show it."""
from __future__ import annotations

import html
import os
from typing import Any

from ._files import copy_whole, temporary_folder


class Report:
    """What came of a model: a page, which notebooks show. html (str): its text."""

    html: str

    def __init__(self, text: str) -> None:
        self.html = text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file."""
        with temporary_folder() as folder:
            page = os.path.join(folder, "page")
            with open(page, "w", encoding="utf-8") as file:
                file.write(self.html)
            copy_whole(page, os.fspath(path))

    def _repr_html_(self) -> str:
        """a frame: the page has styles and scripts of its own"""
        return f'<iframe srcdoc="{html.escape(self.html)}" style="width: 100%; height: 48em; border: 0"></iframe>'


def make(origin: Any) -> Report:
    with temporary_folder() as folder:
        page = os.path.join(folder, "report.html")
        code = "model.cu" if origin.architecture() else "model.c"
        origin.run("-o", os.path.join(folder, code), f"--report={page}")
        with open(page, encoding="utf-8") as file:
            return Report(file.read())
