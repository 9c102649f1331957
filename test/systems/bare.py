# SPDX-License-Identifier: MIT
"""`make demo` and `make check` as who has just cloned the project sees them: on a Debian with git, make and certificates, as root, with
the registries within reach and no folder beside the clone. What is committed is tested. Where debootstrap is, and root: make systems.

    bare.py [--only demo|check] [--keep DIR]        DIR: where the system stays, for a look at what failed"""
import argparse
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import debian  # noqa: E402

PACKAGES = ["git", "make", "ca-certificates"]
TAIL = 40                               # lines of what a command says that are shown


def spent():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def timed(top, goal):
    """whether `make GOAL` succeeds; the end of what it says, and what it took. All that it says stays in build/bare-GOAL.log."""
    log, processor, clock = debian.ROOT / "build" / f"bare-{goal}.log", spent(), time.monotonic()
    with log.open("w") as out:
        code = subprocess.run(debian.command(top, f"make {goal}", "/root/dnncc"), env=debian.environment(), stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.STDOUT).returncode
    print("\n".join(log.read_text(errors="replace").splitlines()[-TAIL:]))
    print(f"make {goal} on a bare Debian: {'exit code ' + str(code) if code else 'passed'}; {spent() - processor:.0f} s of processor time, "
          f"{time.monotonic() - clock:.0f} s by the clock", flush=True)
    return code == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=("demo", "check"))
    parser.add_argument("--keep", type=pathlib.Path, help="an empty folder, or one that is not there")
    options = parser.parse_args()
    if not debian.can_make():
        print("no debootstrap, or no right to use it: nothing is tested on a bare Debian")
        return 0
    top = options.keep or pathlib.Path(tempfile.mkdtemp(prefix="dnncc-bare-"))
    try:
        top.mkdir(parents=True, exist_ok=True)
        debian.make(top, "bare", PACKAGES)
        debian.run("git", "clone", "-q", debian.ROOT, top / "root" / "dnncc")
        return 0 if all([timed(top, goal) for goal in ("demo", "check") if options.only in (None, goal)]) else 1
    finally:
        if not options.keep:
            shutil.rmtree(top)


if __name__ == "__main__":
    sys.exit(main())
