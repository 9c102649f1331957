# SPDX-License-Identifier: MIT
"""The page of --report, as notebooks show it."""
import html
import os
import tempfile

from ._files import copy_whole


class Report:
    def __init__(self, text):
        self.html = text

    def save(self, path):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page")
            with open(page, "w", encoding="utf-8") as file:
                file.write(self.html)
            copy_whole(page, os.fspath(path))

    def _repr_html_(self):
        """a frame: the page has styles and scripts of its own"""
        return f'<iframe srcdoc="{html.escape(self.html)}" style="width: 100%; height: 48em; border: 0"></iframe>'


def make(origin):
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "report.html")
        origin.run("-o", os.path.join(folder, "model.c"), f"--report={page}")
        with open(page, encoding="utf-8") as file:
            return Report(file.read())
