# SPDX-License-Identifier: MIT
"""A fresh Debian in a folder, by debootstrap: who wants one is root. It is kept as build/NAME.tar, since it comes from the network."""
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITE, MIRROR = "bookworm", os.environ.get("DNNCC_DEBIAN_MIRROR", "http://deb.debian.org/debian")
# How this machine reaches registries, which a system in it has to do in the same way: variables, and files.
WAYS_OUT = [name for variable in ("http_proxy", "https_proxy", "no_proxy") for name in (variable, variable.upper())]
WAYS_OUT += ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_PROXY", "PIP_CERT", "PIP_DEFAULT_TIMEOUT", "SSL_CERT_FILE"]
FILES = ["etc/resolv.conf", "etc/pip.conf", "etc/ssl/certs/ca-certificates.crt"]


def can_make():
    return shutil.which("debootstrap") is not None and os.geteuid() == 0


def run(*command, **keywords):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **keywords)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def make(top, name, packages):
    """the smallest system with these packages, in an empty folder"""
    kept = ROOT / "build" / f"{name}.tar"
    if not kept.exists():
        run("debootstrap", "--variant=minbase", *([f"--include={','.join(packages)}"] if packages else []), SUITE, top, MIRROR)
        run("tar", "-C", top, "--exclude=./var/cache/*", "--exclude=./proc/*", "-cf", f"{kept}.new", ".")
        os.rename(f"{kept}.new", kept)
    else:
        run("tar", "-C", top, "-xf", kept)
    for file in FILES:
        if os.path.exists(f"/{file}") and (top / file).parent.exists():
            shutil.copy(f"/{file}", top / file)


def copy_sources(to):
    """what is committed or about to be, and nothing that is built"""
    for name in run("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        if (ROOT / name).exists():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def environment():
    ways = {name: os.environ[name] for name in WAYS_OUT if name in os.environ}
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C", **ways}


def command(top, text, folder):
    """what runs `text` in a shell of that system, which sees processes (/proc) and no terminals (/dev/pts), as a plain chroot does"""
    inside = 'mount -t proc proc "$1/proc" && exec chroot "$1" /bin/sh -ec "cd $2; $3"'
    return ["unshare", "--mount", "sh", "-ec", inside, "sh", str(top), folder, text]
