# SPDX-License-Identifier: MIT
"""One wheel for all Pythons of a system: a program lies in it, but no extension module. $DNNCC_WHEEL_TAG names the system; without it, it is
the oldest glibc that has all that the program asks for, as PEP 600 writes it: manylinux_2_34_x86_64."""
import os
import pathlib
import platform
import re
import sys

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

PACKAGE = pathlib.Path(__file__).resolve().parent / "dnncc"
PROGRAMS = [*PACKAGE.glob("bin/dnncc*"), *PACKAGE.glob("runtime/*.so")]
if not PROGRAMS:
    sys.exit("the compiler is not in the package: `make wheel` in the folder above builds both")


def system(otherwise):
    named = os.environ.get("DNNCC_WHEEL_TAG")
    if named or not otherwise.startswith("linux"):
        return named or otherwise
    versions = [tuple(map(int, v)) for p in PROGRAMS for v in re.findall(rb"GLIBC_(\d+)\.(\d+)", p.read_bytes())]
    return f"manylinux_{'_'.join(map(str, max(versions)))}_{platform.machine()}" if versions else otherwise


class Wheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", system(super().get_tag()[2])


class Programs(Distribution):
    def has_ext_modules(self):
        return True                     # of a kind: the wheel is for one system


setup(version=(PACKAGE.parent / "VERSION").read_text().strip(), distclass=Programs, cmdclass={"bdist_wheel": Wheel})
