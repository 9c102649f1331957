# SPDX-License-Identifier: MIT
"""Files: whole ones, and folders that go when what needs them goes. (shutil and tempfile take as long to import as all of
this package: only who needs them does.)"""
import os
import weakref

from ._error import Error


def copy_whole(source, path):
    """there whole or not at all"""
    import shutil
    temporary = f"{path}.{os.getpid()}.new"
    try:
        shutil.copyfile(source, temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise Error(2, f"cannot write {path}: {error.strerror}") from None
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def folder_for(owner):
    """a folder that is there as long as its owner"""
    import shutil
    import tempfile
    folder = tempfile.mkdtemp(prefix="dnncc-")
    weakref.finalize(owner, shutil.rmtree, folder, True)
    return folder
