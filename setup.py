"""What pyproject.toml cannot say: a wheel that carries compiled code is for one platform.

The library (scripts/build library) is called through ctypes and knows no Python version: one wheel
serves them all, hence py3-none-PLATFORM. Without the library the wheel is pure Python. Manual pages
are carried where they have been written (distribution/man.py).
"""

from __future__ import annotations

import platform
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

ROOT = Path(__file__).parent
LIBRARY = ROOT / "src" / "shadowtime" / "kernel" / "prebuilt" / "kernels.so"
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("build/man/*.1"))


class Carrying(Distribution):
    """What is built, tagged by whether there is a library to carry."""

    def has_ext_modules(self) -> bool:
        """Compiled code, though no module of it."""
        return LIBRARY.is_file()


class Wheel(bdist_wheel):
    """A wheel for one platform and every Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """The library asks nothing of the C library but memset and the like: any glibc will do."""
        python, abi, where = super().get_tag()
        if self.root_is_pure:
            return python, abi, where
        return "py3", "none", f"manylinux_2_17_{platform.machine()}"


setup(
    distclass=Carrying,
    cmdclass={"bdist_wheel": Wheel},
    data_files=[("share/man/man1", PAGES)],
)
