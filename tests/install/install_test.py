# SPDX-License-Identifier: Apache-2.0
"""What is installed works where it was moved to, and holds nothing of the build: python3 install_test.py BUILD.

Installs to a prefix, moves the prefix, and there runs the program, builds a consumer in C and C++ with every compiler
that is there, by CMake and by pkg-config, and imports the Python module. The library exports the interface alone.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILERS = [("gcc", "g++"), ("clang-19", "clang++-19")]


def clean_environment():
    return {name: value for name, value in os.environ.items() if name not in ("TILESCOPE_HOME", "PYTHONPATH")}


def run(*command, status=0, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                          env={**clean_environment(), **options.pop("env", {})}, **options)
    if done.returncode != status:
        sys.exit(f"{' '.join(str(c) for c in command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + (done.stderr if status else "")


def holds_no_path(prefix, build):
    words = [str(ROOT).encode() + b"/", str(build).encode()]
    found = [str(f.relative_to(prefix)) for f in prefix.rglob("*") if f.is_file() and not f.is_symlink()
             and any(w in f.read_bytes() for w in words)]
    print(f"files that hold a path of the build: {found}")
    return not found


def exports(prefix):
    library = next((prefix / "lib").rglob("libtilescope.so"))
    names = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", library).splitlines()}
    names -= {"sc_main"}  # which SystemC's shared library asks for
    declared = set(re.findall(r"\b(tilescope_[a-z_]+)\(", (ROOT / "include/tilescope/tilescope.h").read_text()))
    print(f"exported and not declared: {sorted(names - declared)}; declared and not exported: {sorted(declared - names)}")
    return names == declared


def consumer(prefix, folder, compilers, expected):
    c, cxx = compilers
    if shutil.which(cxx) is None:
        print(f"no {cxx}")
        return True
    build = folder / f"consumer_{cxx}"
    run("cmake", "-S", ROOT / "tests/consumer", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={c}",
        f"-DCMAKE_CXX_COMPILER={cxx}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    run("cmake", "--build", build)
    said = dict(line.split(" ", 1) for line in run(build / "consumer").splitlines())
    in_c = dict(line.split(" ", 1) for line in run(build / "consumer_c").splitlines())
    refused = run(build / "consumer", "h2000", status=2)
    print(f"{cxx}: {said}, in C {in_c}; {refused.strip()}")
    ratio = float(said["simulated_us"]) / float(said["predicted_us"])
    return (float(said["predicted_us"]) == expected["banks 64"] and float(in_c["predicted_us"]) == expected["as it is"]
            and 0.5 < ratio < 2 and "h2000" in refused)


def by_pkg_config(prefix, folder, expected):
    if shutil.which("pkg-config") is None:
        print("no pkg-config")
        return True
    pc = next(prefix.rglob("tilescope.pc")).parent
    flags = run("pkg-config", "--cflags", "--libs", "tilescope", env={"PKG_CONFIG_PATH": str(pc)}).split()
    program = folder / "by_pkg_config"
    library = next(f[2:] for f in flags if f.startswith("-L"))
    run("gcc", ROOT / "tests/consumer/consumer.c", "-o", program, *flags, f"-Wl,-rpath,{library}")
    return float(run(program).split()[1]) == expected["as it is"]


def refuses_another_version(build, folder):
    prefix = folder / "older"
    data = prefix / "share/tilescope"
    data.mkdir(parents=True)
    (data / "version.txt").write_text("0.0.7\n")
    said = run("cmake", "--install", build, "--prefix", prefix, status=1)
    left = [f for f in prefix.rglob("*") if f.is_file()]
    print(f"over another version: {len(left)} file")
    return "has Tilescope 0.0.7, and this is " in " ".join(said.split()) and len(left) == 1


def predicted(tilescope, *more):
    text = run(tilescope, "compile", "--arch", "v100", "--op", "C[m,n] +=! A[m,k] * B[k,n]", "--size", "m=512,n=512,k=512",
               "--top", "1", "--json", *more)
    return round(json.loads(text)["operators"][0]["programs"][0]["predicted_us"], 3)


def main():
    build = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run("cmake", "--install", build, "--prefix", folder / "first")
        prefix = folder / "moved" / "here"
        prefix.parent.mkdir()
        (folder / "first").rename(prefix)
        tilescope = prefix / "bin/tilescope"
        expected = {"as it is": predicted(tilescope), "banks 64": predicted(tilescope, "--set", "memory.smem.banks=64")}
        good = refuses_another_version(build, folder)
        good = holds_no_path(prefix, build) and good
        good = exports(prefix) and good
        for compilers in COMPILERS:
            good = consumer(prefix, folder, compilers, expected) and good
        good = by_pkg_config(prefix, folder, expected) and good
        module = prefix / "lib/python3/dist-packages"
        if (module / "tilescope").exists():
            code = "import tilescope as ts; print(len(ts.devices()), ts.Chip('v100')['memory.smem.banks'])"
            said = run("/usr/bin/python3", "-c", code, env={"PYTHONPATH": str(module)}).split()
            print(f"Python: {said[0]} devices")
            good = int(said[0]) > 10 and said[1] == "32" and good
        return 0 if good else 1


sys.exit(main())
