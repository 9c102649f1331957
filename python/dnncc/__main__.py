# SPDX-License-Identifier: MIT
"""python -m dnncc: the compiler's command line."""
import os
import subprocess
import sys

from . import _tool


def main() -> None:
    try:
        path = _tool.path()
    except _tool.Error as error:
        print(f"dnncc: error: {error}", file=sys.stderr)
        sys.exit(error.code)
    if os.name == "nt":                 # where execv does not wait
        sys.exit(subprocess.run([path, *sys.argv[1:]]).returncode)
    os.execv(path, ["dnncc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
