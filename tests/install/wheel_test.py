# SPDX-License-Identifier: Apache-2.0
"""The source distribution has all that CMake asks for, and its wheel imports in an empty folder: wheel_test.py BUILD.

The wheel takes the library of BUILD. Nothing is fetched.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"  # the one that the module is compiled for
LEFT_OUT = shutil.ignore_patterns(".git", "build*", "node_modules", "__pycache__", "*.egg-info")


def run(*command, **options):
    environment = {k: v for k, v in os.environ.items() if k not in ("TILESCOPE_HOME", "PYTHONPATH", "TILESCOPE_BUILD")}
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, env={**environment, **options.pop("env", {})}, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(c) for c in command)}: status {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def packed(what, source, out, **options):
    run(PYTHON, "-m", "build", f"--{what}", "--no-isolation", "--outdir", out, source, **options)
    return next(f for f in out.iterdir() if f.suffix in (".gz", ".whl"))


def main():
    build = Path(sys.argv[1]).resolve()
    for needed in ("build", "setuptools", "wheel"):
        if subprocess.run([PYTHON, "-c", f"import {needed}"], check=False, capture_output=True).returncode != 0:
            print(f"skipped=no python3-{needed}")
            return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT, folder / "tree", ignore=LEFT_OUT)  # `build` writes beside the sources
        sources = packed("sdist", folder / "tree", folder / "sdist")
        shutil.unpack_archive(sources, folder / "unpacked")
        unpacked = next((folder / "unpacked").iterdir())
        run("cmake", "-S", unpacked, "-B", folder / "configured", "-G", "Ninja", "-DTILESCOPE_TESTS=OFF")
        wheel = packed("wheel", unpacked, folder / "wheel", env={"TILESCOPE_BUILD": str(build)})
        zipfile.ZipFile(wheel).extractall(folder / "installed")
        empty = folder / "empty"
        empty.mkdir()
        said = run(PYTHON, "-c", "import tilescope as ts; print(len(ts.devices()), ts.Chip('h200')['core.count'])", cwd=empty,
                   env={"PYTHONPATH": str(folder / "installed")}).split()
        print(f"{sources.name}: {sources.stat().st_size / 1e6:.1f} MB; {wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; "
              f"{said[0]} devices, h200 has {said[1]} cores")
        return 0 if int(said[0]) > 10 and said[1] == "132" else 1


sys.exit(main())
