# SPDX-License-Identifier: MIT
"""Files: whole ones, and temporary folders. (shutil, subprocess and tempfile take as long to import as all of this package:
only who needs them does.)

All temporary folders of a process lie in one, /tmp/dnncc-.... A shell beside the process waits for the end of a pipe, which comes
when the process ends, in whatever way, and removes that folder: a process that a signal ends can do nothing itself.
"""
from __future__ import annotations

import atexit
import contextlib
import os
import weakref
from typing import Any, Callable, Iterator

from ._error import Error

WATCH = 'trap "" TERM INT HUP; cat; for again in 1 2 3 4 5; do rm -rf -- "$1" && exit; sleep 1; done'
roots: dict[int, tuple[str, Any]] = {}      # of each process, since a fork has its parent's: its folder, and the shell


def copy_whole(source: str, path: str) -> None:
    """there whole or not at all"""
    import shutil
    write_whole(path, lambda temporary: shutil.copyfile(source, temporary))


def write_whole(path: str, write: Callable[[str], Any]) -> None:
    """there whole or not at all; write(path) makes it"""
    temporary = f"{path}.{os.getpid()}.new"
    try:
        write(temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise Error(2, f"cannot write {path}: {error.strerror}") from None
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def root() -> str:
    """the folder in which the process has its temporary ones"""
    process = os.getpid()
    if process not in roots:
        import subprocess
        import tempfile
        made = tempfile.mkdtemp(prefix="dnncc-")
        try:
            watcher = subprocess.Popen(["/bin/sh", "-c", WATCH, "dnncc", made], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        except OSError:                         # a system without such a shell
            watcher = None
        roots[process] = made, watcher
        atexit.register(remove_root, process)
    return roots[process][0]


def remove_root(process: int) -> None:
    if process != os.getpid() or process not in roots:
        return
    import shutil
    made, watcher = roots.pop(process)
    shutil.rmtree(made, True)
    if watcher:
        watcher.stdin.close()
        watcher.wait()


def new_folder() -> str:
    import tempfile
    return tempfile.mkdtemp(dir=root())


def remove_folder(path: str, process: int) -> None:
    if process == os.getpid():                  # not the copy that a fork has
        import shutil
        shutil.rmtree(path, True)


def folder_for(owner: object) -> str:
    """a folder that is there as long as its owner"""
    made = new_folder()
    weakref.finalize(owner, remove_folder, made, os.getpid())
    return made


@contextlib.contextmanager
def temporary_folder() -> Iterator[str]:
    made = new_folder()
    try:
        yield made
    finally:
        remove_folder(made, os.getpid())
