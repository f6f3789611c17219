# SPDX-License-Identifier: Apache-2.0
"""`emit --host`: the launcher of a program is compiled against cuda.h and linked with the toolkit's libcuda; with a
driver whose device is the CPU it runs, and its results are those of plain loops.

    launcher_test.py BUILD_FOLDER
"""

import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv.pop()).resolve() if len(sys.argv) > 1 else ROOT / "build"
DRIVER = BUILD / "tests/cpu_driver"
TOOLKITS = [pathlib.Path(p) for p in ("/usr/local/cuda", "/usr/lib/cuda", "/usr")] + sorted(
    pathlib.Path("/usr/local").glob("cuda-*"))
PRODUCT = "C[m,n] +=! A[m,k] * B[n,k]"
MASK = 2**64 - 1


def mixed(x):  # splitmix64
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def drawn(number, element):
    """The element of the launcher's input of that number, from 1 on."""
    return (mixed(number << 40 ^ element) >> 11) * 2.0**-52 - 1


def as_bf16(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return struct.unpack("<f", struct.pack("<I", (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000))[0]


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class Launcher(unittest.TestCase):
    def setUp(self):
        found = [t for t in TOOLKITS if (t / "include/cuda.h").exists()]
        if not found:
            print("skipped=cuda.h: it is in none of " + ", ".join(str(t / "include") for t in TOOLKITS))
            self.skipTest("cuda.h is missing")
        self.cuda = found[0]
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def tilescope(self, *arguments, status=0):
        code, text = run([BUILD / "tilescope", *arguments], self.folder)
        self.assertEqual(code, status, text)
        return text

    def emit(self, arch, sizes, *more):
        self.tilescope("compile", "--arch", arch, "--op", PRODUCT, "--size", sizes, "--top", "1", "-o", "p", *more)
        text = self.tilescope("emit", "--arch", arch, "--program", "p/op.0.json", "--host", "-o", "out")
        self.assertIn("out: kernels.cu and launch.cc; build them with make", text)
        return (self.folder / "out/launch.cc").read_text()

    def compile_launcher(self, *options):
        """Warnings are errors; the toolkit's own header may have some."""
        code, text = run(["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-isystem",
                          self.cuda / "include", *options], self.folder / "out")
        self.assertEqual(code, 0, text)

    def results_on_the_cpu(self, arch):
        """C's bytes, by the launcher and the program's kernels for the CPU, in place of a cubin."""
        text = self.tilescope("emit", "--arch", arch, "--program", "p/op.0.json", "--dialect", "cpu")
        out, unit = self.folder / "out", '#include "tests/support/cpu_driver/kernel.h"\n' + text
        for head in re.findall(r'extern "C" __global__ void ([^{]*)\{', text):
            cluster = re.search(r"__cluster_dims__\((\d+)", head)
            name = re.sub(r"__\w+__\([^)]*\)", "", head).split("(")[0].split()[-1]
            unit += f"TILESCOPE_CPU_KERNEL({name}, {cluster[1] if cluster else 1})\n"
        (out / "unit.cc").write_text(unit)
        (out / "kernels.cubin").write_text(str(out / "kernels.so"))
        code, text = run(["g++", "-std=c++20", "-w", "-Og", "-fPIC", "-shared", "-fno-strict-aliasing",
                          "-ffp-contract=off", "-fwrapv", f"-I{ROOT}", "-o", "kernels.so", "unit.cc", f"-L{DRIVER}",
                          "-l:libcuda.so.1"], out)
        self.assertEqual(code, 0, text)
        self.compile_launcher("-o", "launch", "launch.cc", f"-L{DRIVER}", "-l:libcuda.so.1", f"-Wl,-rpath,{DRIVER}")
        code, text = run(["./launch", "--repeats", "3", "--save", "."], out)
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"^\d+\.\d\d us on the CPU, the median of 3\n$")
        return (out / "C.bin").read_bytes()

    def test_is_linked_with_the_driver(self):
        text = self.emit("h200", "m=8192,n=8192,k=8192", "--dtype", "bf16")
        for word in ("cuTensorMapEncodeTiled", "CU_TENSOR_MAP_SWIZZLE_128B", "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION",
                     "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", "launch(kernel_compute_C, 132, 4, 288, "):
            self.assertIn(word, text)
        for stubs in (self.cuda / "lib64/stubs", self.cuda / "lib/stubs"):
            if (stubs / "libcuda.so").exists():
                self.compile_launcher("-o", "launch", "launch.cc", f"-L{stubs}", "-lcuda")
                return
        self.compile_launcher("-c", "-o", "launch.o", "launch.cc")

    def test_computes_what_plain_loops_do(self):
        m, n, k = 96, 80, 48
        self.emit("a100", f"m={m},n={n},k={k}")
        found = struct.unpack(f"<{m * n}f", self.results_on_the_cpu("a100"))
        for at in range(0, m * n, 7):
            expected = sum(drawn(1, at // n * k + i) * drawn(2, at % n * k + i) for i in range(k))
            self.assertAlmostEqual(found[at], expected, delta=1e-4)

    def test_encodes_maps_of_tensors(self):
        size = 256
        self.assertIn("tensor_map(array_A, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16",
                      self.emit("h200", f"m={size},n={size},k={size}", "--dtype", "bf16"))
        bytes_of_c = self.results_on_the_cpu("h200")
        self.assertEqual(len(bytes_of_c), 2 * size * size)
        for at in range(0, size * size, 331):
            found = struct.unpack("<f", b"\0\0" + bytes_of_c[2 * at:2 * at + 2])[0]
            expected = sum(as_bf16(drawn(1, at // size * size + i)) * as_bf16(drawn(2, at % size * size + i))
                           for i in range(size))
            self.assertAlmostEqual(found, expected, delta=0.01 * (1 + abs(expected)))

    def test_refuses(self):
        self.tilescope("compile", "--arch", "mi210", "--op", PRODUCT, "--size", "m=64,n=64,k=64", "--top", "1", "-o",
                       "p")
        program = ("emit", "--arch", "mi210", "--program", "p/op.0.json", "--host")
        self.assertIn("a launcher calls the CUDA driver; 'hip' has none",
                      self.tilescope(*program, "--dialect", "hip", "-o", "out", status=2))
        self.assertIn("--host requires --output", self.tilescope(*program, status=2))


if __name__ == "__main__":
    os.environ.pop("LD_LIBRARY_PATH", None)
    unittest.main()
