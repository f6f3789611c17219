# SPDX-License-Identifier: Apache-2.0
"""Puts the library, its data and the compiled module of a build into the package.

The build is that of $TILESCOPE_BUILD, or build/, which is made where it is not there.
"""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

ROOT = Path(__file__).resolve().parent


def version():
    return re.search(r"project\(tilescope VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def built():
    folder = Path(os.environ.get("TILESCOPE_BUILD", ROOT / "build"))
    if not (folder / "CMakeCache.txt").exists():
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DTILESCOPE_TESTS=OFF"], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "libtilescope", "tilescope_python"], check=True)
    return folder


class Build(build_py):
    def run(self):
        super().run()
        package = Path(self.build_lib) / "tilescope"
        with tempfile.TemporaryDirectory() as prefix:
            for component in ("library", "data", "python"):
                subprocess.run(["cmake", "--install", built(), "--prefix", prefix, "--component", component, "--strip"],
                               check=True, stdout=subprocess.DEVNULL)
            shutil.copytree(f"{prefix}/share/tilescope", package / "share/tilescope", dirs_exist_ok=True)
            shutil.copytree(f"{prefix}/lib/python3/dist-packages/tilescope", package, dirs_exist_ok=True)
            library = next(f for f in Path(prefix).rglob("libtilescope.so.*") if not f.is_symlink())
            soname = ".".join(library.name.split(".")[:4])  # libtilescope.so.0.1
            shutil.copy(library, package / soname)


class Compiled(Distribution):
    def has_ext_modules(self):
        return True


setup(version=version(), cmdclass={"build_py": Build}, distclass=Compiled)
