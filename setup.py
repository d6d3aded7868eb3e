"""What pyproject.toml cannot say: a wheel that carries compiled code is for one platform.

The library (scripts/build library) is called through ctypes and knows no Python version: one wheel
serves them all, hence py3-none-PLATFORM. Without the library the wheel is pure Python.
"""

from __future__ import annotations

import platform
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel

LIBRARY = Path(__file__).parent / "src" / "shadowtime" / "kernel" / "prebuilt" / "kernels.so"


class Wheel(bdist_wheel):
    """Tags the wheel by what is in it."""

    def finalize_options(self) -> None:
        """Not pure if there is a library to carry."""
        super().finalize_options()
        self.root_is_pure = not LIBRARY.is_file()

    def get_tag(self) -> tuple[str, str, str]:
        """The library asks nothing of the C library but memset and the like: any glibc will do."""
        python, abi, where = super().get_tag()
        if self.root_is_pure:
            return python, abi, where
        return "py3", "none", f"manylinux_2_17_{platform.machine()}"


setup(cmdclass={"bdist_wheel": Wheel})
