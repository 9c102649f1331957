# SPDX-License-Identifier: MIT
"""Compiled models on disk.

    $XDG_CACHE_HOME/dnncc/ab/abc...        a folder: model.so, model.json, perhaps model.weights
    $XDG_CACHE_HOME/dnncc/ab/abc....more   names of further files that a model was read from

A folder is made aside and renamed, so that it is there whole or not at all; of two processes that make the same one,
the first wins, and both have it. Its name is a digest of all that went into it, so nothing in it is ever out of date.
"""
from __future__ import annotations

import os
import shutil
import tempfile
import time

DAY = 24 * 60 * 60


def folder() -> str:
    root = os.environ.get("XDG_CACHE_HOME")
    if not root or not os.path.isabs(root):             # relative ones are to be ignored: XDG Base Directory Specification
        root = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(root, "dnncc")


class Cache:
    def __init__(self):
        self.folder = folder()

    def path(self, key):
        return os.path.join(self.folder, key[:2], key)

    def find(self, key):
        """the folder, or None"""
        path = self.path(key)
        return path if os.path.exists(os.path.join(path, "model.so")) else None

    def new(self):
        """a folder to build in, on the same file system; None: the cache cannot be written"""
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            self.sweep()
            return tempfile.mkdtemp(prefix="new-", dir=self.folder)
        except OSError:
            return None

    def sweep(self):
        """what processes that were killed left behind"""
        for entry in os.scandir(self.folder):
            if entry.name.startswith("new-") and entry.stat().st_mtime < time.time() - DAY:
                shutil.rmtree(entry.path, ignore_errors=True)

    def keep(self, built, key):
        """Moves a folder to where its key says, unless another process was first; returns its place."""
        path = self.path(key)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        try:
            os.rename(built, path)
        except OSError:
            if not self.find(key):      # what lies there is not whole: somebody's hand
                shutil.rmtree(path, ignore_errors=True)
                os.rename(built, path)
        shutil.rmtree(built, ignore_errors=True)
        return path

    def drop(self, key):
        shutil.rmtree(self.path(key), ignore_errors=True)

    # further files: which they are is known only after a model has been read once

    def more(self, key):
        try:
            with open(self.path(key) + ".more", encoding="utf-8", errors="surrogateescape") as file:
                return file.read().split("\0")[:-1]
        except OSError:
            return []

    def keep_more(self, key, names):
        path = self.path(key) + ".more"
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        fd, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
        with open(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("".join(name + "\0" for name in names))
        os.replace(temporary, path)
