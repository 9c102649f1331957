# SPDX-License-Identifier: MIT
"""python -m dnncc: the compiler's command line."""
import os
import sys

from . import _tool


def main():
    try:
        path = _tool.path()
    except _tool.Error as error:
        print(f"dnncc: error: {error}", file=sys.stderr)
        sys.exit(error.code)
    os.execv(path, ["dnncc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
