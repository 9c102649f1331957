# SPDX-License-Identifier: MIT
"""One wheel for all Pythons of a system: programs lie in it, but no extension module."""
import pathlib
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

TOOL = pathlib.Path(__file__).resolve().parent / "dnncc" / "bin" / "dnncc"
if not TOOL.exists():
    sys.exit("the compiler is not in the package: `make wheel` in the folder above builds both")


class Wheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class Programs(Distribution):
    def has_ext_modules(self):
        return True                     # of a kind: the wheel is for one system


setup(version=subprocess.run([TOOL, "--version"], capture_output=True, text=True, check=True).stdout.split()[1],
      distclass=Programs, cmdclass={"bdist_wheel": Wheel})
