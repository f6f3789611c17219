# SPDX-License-Identifier: Apache-2.0
"""experiments/studies/gpu/run, rehearsed on tests/support/fake_driver, which needs no GPU and computes nothing.

    gpu_study_test.py BUILD_FOLDER
"""

import atexit
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv.pop())
STUDY = ROOT / "experiments/studies/gpu"
WORKER = BUILD / "tilescope_gpu"
DEVICE, CHIP = "NVIDIA H200", "h200"
sys.path.insert(0, str(STUDY))

import boards  # noqa: E402
import bundle as bundles  # noqa: E402
import counters  # noqa: E402
import rows as rows_of  # noqa: E402
import stages  # noqa: E402
import tables  # noqa: E402


NO_ROWS = pathlib.Path(tempfile.mkdtemp(prefix="tilescope_no_rows_"))
atexit.register(shutil.rmtree, NO_ROWS, ignore_errors=True)


def run(*words, preexec=None, **environment):
    # The rows of real devices, which the project keeps, are none of the fake one's.
    return subprocess.run([sys.executable, STUDY / "run", *words, "--tilescope", BUILD / "tilescope", "--kept", NO_ROWS],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment},
                          preexec_fn=preexec)


def measure(bundle, out, *more, preexec=None, **environment):
    settings = {"TILESCOPE_CUDA_PATH": str(BUILD / "tests/fake_driver"), "FAKE_DRIVER_NAME": DEVICE,
                "FAKE_DRIVER_MEMORY": str(64 << 30), "PATH": "/usr/bin:/bin", **environment}
    return run("measure", "--bundle", bundle, "--out", out, "--worker", WORKER, *more, preexec=preexec, **settings)


def text_of(file):
    """What a file of /proc holds; nothing where its process has ended."""
    try:
        return file.read_bytes().decode(errors="replace")
    except OSError:
        return ""


def rows_in(folder):
    return list(rows_of.read(folder / "nvidia-h200.jsonl").values())


# A task whose kernel copies A to C, or does what else its name says.
def task(name, kernel, more=""):
    return (f"task {name}\nnote dtype f32\nnote kind copy\nnote program {name}\nremark rank 0\nmodule m.cubin\n"
            f"array A f32 64 input 7\narray C f32 64 output\nlaunch {kernel} 2 32 0 C A\ncheck C 0\nexpect 0 -1.0\nexpect 1 0.75\n{more}")


# A PyTorch whose calls compute nothing; every one takes two milliseconds by its events.
FAKE_TORCH = """
import types
__version__ = "0.0"
float32, float16, bfloat16, uint8, int32 = range(5)
class Tensor:
    def __add__(self, other): return self
    __mul__ = view = to = __add__
    sum = lambda self, *axis: self
def randint(low, high, shape, device):
    assert (low, high, device) == (-4, 5, "cuda") and all(n > 0 for n in shape)
    return Tensor()
def empty(n, device, dtype): return Tensor()
def relu(x): return x
def softmax(x, dim): return x
def set_grad_enabled(on): pass
def call(*tensors, **more): return tensors[0]
def layer_norm(*arguments): raise RuntimeError("CUDA out of memory\\nmore lines")
class Event:
    now = 0
    def __init__(self, enable_timing): pass
    def record(self):
        Event.now += 2
        self.at = Event.now
    def elapsed_time(self, other): return other.at - self.at
class nn:
    functional = types.SimpleNamespace(scaled_dot_product_attention=call, linear=call, gelu=call, silu=call,
                                       rms_norm=call, layer_norm=layer_norm)
class cuda:
    is_available = staticmethod(lambda: True)
    get_device_name = staticmethod(lambda device: "NVIDIA H200")
    get_device_properties = staticmethod(lambda device: types.SimpleNamespace(L2_cache_size=1000))
    synchronize = empty_cache = staticmethod(lambda: None)
    Event = Event
class backends:
    class cuda: matmul = types.SimpleNamespace()
    cudnn = types.SimpleNamespace()
"""


class OnFakeDriver(unittest.TestCase):
    """Bundles of plans that are written here, whose kernels the fake driver runs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"

    def bundle(self, torch="[]", **plans):
        """By stage the tasks of its plan; the other stages have none."""
        folder = self.folder / "bundle"
        folder.mkdir(exist_ok=True)
        with zipfile.ZipFile(folder / "bundle.zip", "w") as packed:
            for stage in stages.STAGES:
                packed.writestr(f"{CHIP}/{stage.name}.txt", f"tilescope plan 1\nnote chip {CHIP}\nhelpers helpers.cubin\n"
                                + plans.get(stage.name, ""))
            packed.writestr(f"{CHIP}/torch.json", torch)
            packed.writestr(f"{CHIP}/counters.json", plans.get("simulated", "{}"))
            packed.writestr("cubins/m.cubin", "copy copy_wrong fails hangs crashes nothing")
            packed.writestr("cubins/helpers.cubin", "tilescope_read tilescope_fill tilescope_differ tilescope_nothing")
        bundles.write_manifest(folder, [CHIP], {})
        return folder

    def test_what_goes_wrong_costs_its_own_row_alone(self):
        wrong = task("wrong", "copy_wrong").replace("module", "remark command measure --mma mma.f16 --set no=1\nmodule")
        bundle = self.bundle(values=task("right", "copy") + wrong + task("hangs", "hangs")
                             + task("faults", "fails") + task("crashes", "crashes"),
                             times=task("timed", "copy", "time cold 1 2 1\n"))
        done = measure(bundle, self.out, "--limit", "1")
        self.assertEqual(done.returncode, 1, done.stderr)
        found = {row["id"]: row for row in rows_in(self.out)}
        self.assertEqual(found["right"]["values"], "ok")
        self.assertEqual(found["wrong"]["values"], "wrong")
        self.assertIn("no answer within 1 s", found["hangs"]["error"])
        self.assertIn("illegal memory access", found["faults"]["error"])
        self.assertIn("ended by signal", found["crashes"]["error"])
        self.assertGreater(found["timed"]["measured_us"], 0)
        self.assertIn("values: 5 rows, 1 wrong, 3 failed otherwise", done.stdout)
        self.assertIn("values: 2 right, 1 wrong, 3 failed otherwise", done.stdout)
        self.assertRegex(done.stdout, r"wrong or failed\n.*\nwrong +f32 +0 +mma.f16 no=1 +C\[0\] is ")
        self.assertIn("the first row came after", done.stdout)
        self.assertLessEqual(len(list(self.out.iterdir())), 6)
        self.assertEqual((self.out / "log.txt").read_text(), done.stdout)

    def test_goes_on_where_time_was_up_in_the_middle_of_a_stage(self):
        slow = "".join(task(f"slow{i}", "copy") for i in range(40))
        bundle = self.bundle(values=slow, times=task("timed", "copy", "time cold 0 1 1\n"))
        # Two launches of 0.2 s each a task: some six of the forty fit the first three seconds.
        done = measure(bundle, self.out, "--minutes", str(13 / 60), FAKE_DRIVER_LAUNCH_MS="200")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stdout, r"values: [0-9]+ rows, .*: time is up\n")
        self.assertIn("not all reached: ", done.stdout)
        first = {row["key"] for row in rows_in(self.out)}
        self.assertGreater(len(first), 1)
        self.assertLess(len(first), 41)
        done = measure(bundle, self.out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(sum(row["id"].startswith("slow") for row in rows_in(self.out)), 40)
        self.assertIn("timed", {row["id"] for row in rows_in(self.out)})
        again = measure(bundle, self.out)
        self.assertIn("values: 0 rows, 0 wrong", again.stdout)

    def test_a_stage_leaves_its_time_to_the_next_ones(self):
        # The share of the power stage is 0.2 s of 3.5 s: its second task would not begin by it.
        bundle = self.bundle(power=task("power", "copy", "energy 0.4\n") + task("power2", "copy", "energy 0.4\n"))
        done = measure(bundle, self.out, "--minutes", str(13.5 / 60))
        self.assertNotIn("time is up", done.stdout)
        found = {row["id"]: row for row in rows_in(self.out)}
        for name in ("power", "power2"):
            self.assertAlmostEqual(found[name]["power_w"], 400, delta=150)

    def test_counters_are_left_out_without_ncu_and_read_with_it(self):
        plan = task("twice", "copy", "launch nothing 1 32 0\n") + task("once", "copy")
        simulated = json.dumps({"twice": {"simulated_us": 5, "stalls": {}, "levels": {
            "dram": {"read_bytes": 100, "written_bytes": 60, "transactions": 5},
            "l2": {"read_bytes": 0, "written_bytes": 0, "transactions": 12}}}})
        bundle = self.bundle(counters=plan, simulated=simulated)
        done = measure(bundle, self.out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        if counters.installed() is None:
            self.assertIn("counters: left out: no ncu on the PATH", done.stdout)
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        names = ["ID", "Kernel Name", *counters.SUMS, *counters.MEANS]
        lines = [names, ["", "", *["unit"] * (len(names) - 2)], ["0", "tilescope_fill(void *)", *["9"] * (len(names) - 2)]]
        for number, kernel in enumerate(("copy", "nothing", "copy")):
            lines.append([str(number), f"{kernel}(float *)", *["1,000"] * (len(names) - 2)])
        lines.append(["==PROF== Disconnected from process 1"])
        table = "\n".join(",".join(f'"{cell}"' for cell in line) if len(line) > 1 else line[0] for line in lines)
        ncu = bin_folder / "ncu"
        ncu.write_text("#!/usr/bin/env python3\nimport subprocess, sys\n"
                       "words = sys.argv[1:]\nlog = words[words.index('--log-file') + 1]\n"
                       "program = words[words.index('--metrics') + 2:]\n"
                       f"open(log, 'w').write('==PROF== connected\\n' + {table!r})\n"
                       "sys.exit(subprocess.run(program).returncode)\n")
        ncu.chmod(0o755)
        done = measure(bundle, self.out, PATH=f"{bin_folder}:/usr/bin:/bin")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = {row["id"]: row for row in rows_in(self.out) if row.get("kind") == "counters"}
        self.assertEqual(found["twice"]["dram_read_bytes"], 2000)
        self.assertEqual(found["once"]["dram_read_bytes"], 1000)
        self.assertEqual(found["twice"]["l2_hit_percent"], 1000)
        self.assertEqual(found["twice"]["simulated_dram_bytes"], 160)
        self.assertEqual(found["twice"]["simulated_l2_sectors"], 12)
        self.assertEqual(found["twice"]["chip"], CHIP)
        ncu.write_text("#!/bin/sh\nshift 13; echo '==ERROR== ERR_NVGPUCTRPERM' > \"$1\"; exit 1\n")
        other = measure(bundle, self.folder / "other", PATH=f"{bin_folder}:/usr/bin:/bin")
        self.assertRegex(other.stdout, "counters: left out: (==ERROR== ERR_NVGPUCTRPERM|ncu wrote nothing)")

    def test_says_why_pytorch_is_left_out(self):
        bundle = self.bundle()
        with zipfile.ZipFile(bundle / "bundle.zip", "a") as packed:
            self.assertIn(f"{CHIP}/torch.json", packed.namelist())
        stub = self.folder / "stub/torch"
        stub.mkdir(parents=True)
        (stub / "__init__.py").write_text("raise ImportError('none')\n")
        done = measure(bundle, self.out, PYTHONPATH=str(stub.parent))
        self.assertIn("torch: left out: this Python has no PyTorch", done.stdout)
        (stub / "__init__.py").write_text("class cuda:\n    is_available = staticmethod(lambda: False)\n")
        done = measure(bundle, self.out, PYTHONPATH=str(stub.parent))
        self.assertIn("torch: left out: PyTorch finds no GPU", done.stdout)

    def test_calls_of_pytorch_become_rows(self):
        calls = {call: axes for of_suite in stages.TORCH.values() for call, axes in of_suite.values()}
        operators = [{"id": call, "kind": "k", "dtype": "f16", "call": call, "operator": f"{call} f16",
                      "sizes": [8] * len(axes.split())}
                     for call, axes in calls.items()]
        bundle = self.bundle(torch=json.dumps(operators))
        (self.folder / "stub").mkdir()
        (self.folder / "stub/torch.py").write_text(FAKE_TORCH)
        done = measure(bundle, self.out, PYTHONPATH=str(self.folder / "stub"))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        found = {row["id"]: row for row in rows_in(self.out) if row.get("baseline", "").startswith("torch")}
        self.assertEqual(set(found), set(calls))
        self.assertEqual(found["layernorm"]["error"], "CUDA out of memory")
        self.assertEqual(found["attention"]["measured_us"], 2000)
        self.assertEqual(found["attention"]["baseline"], "torch-sdpa")
        self.assertEqual(found["attention"]["operator"], "attention f16")
        measure(bundle, self.out, PYTHONPATH=str(self.folder / "stub"))
        lines = (self.out / "nvidia-h200.jsonl").read_text()
        self.assertEqual(lines.count('"id":"attention"'), 1)
        self.assertEqual(lines.count('"id":"layernorm"'), 2, "only what failed is tried again")

    def test_refuses_what_it_cannot_measure(self):
        bundle = self.bundle(values=task("right", "copy"))
        for name, why in (("NVIDIA GH200 480GB", "no chip file describes a NVIDIA GH200 480GB"),
                          ("Tesla V100-PCIE-16GB", "run prepare --chip v100' makes it")):
            done = measure(bundle, self.out, FAKE_DRIVER_NAME=name)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)
            self.assertFalse(self.out.exists())
        none = measure(bundle, self.out, FAKE_DRIVER_DEVICES="0")
        self.assertEqual(none.returncode, 2)
        self.assertIn("finds no GPU", none.stderr)
        (self.folder / "libcuda.so.1").write_text("no library")
        none = measure(bundle, self.out, TILESCOPE_CUDA_PATH=str(self.folder))
        self.assertEqual(none.returncode, 2)
        self.assertIn("no driver of a GPU", none.stderr)
        missing = measure(self.folder / "none", self.out)
        self.assertEqual(missing.returncode, 2)
        self.assertIn("holds no bundle; 'experiments/studies/gpu/run prepare' makes one", missing.stderr)
        manifest = json.loads((bundle / "manifest.json").read_text())
        (bundle / "manifest.json").write_text(json.dumps({**manifest, "code": "older"}))
        older = measure(bundle, self.out)
        self.assertEqual(older.returncode, 2)
        self.assertIn("was made by other code than this tree's", older.stderr)

    def test_a_stage_that_cannot_run_is_named_and_is_a_failure(self):
        done = measure(self.bundle(values="task x\nno_such_word\n", times=task("timed", "copy")), self.out)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("could not run: values", done.stdout)
        self.assertIn("timed", {row["id"] for row in rows_in(self.out)}, "the next stages run")

    def test_a_damaged_bundle_is_named(self):
        bundle = self.bundle(values=task("right", "copy"))
        whole = (bundle / "bundle.zip").read_bytes()
        (bundle / "bundle.zip").write_bytes(whole[:-100])
        done = measure(bundle, self.out)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "bundle.zip is damaged: .*; copy it again")
        (bundle / "manifest.json").write_text("[1]")
        self.assertIn("holds no bundle", measure(bundle, self.out).stderr)
        for odd in ("0", "-1", "nan", "inf"):
            self.assertEqual(measure(bundle, self.out, "--minutes", odd).returncode, 2)

    def test_programs_end_when_the_study_is_ended(self):
        bundle = self.bundle(values=task("right", "copy") + task("hangs", "hangs"))
        environment = {**os.environ, "TILESCOPE_CUDA_PATH": str(BUILD / "tests/fake_driver"), "FAKE_DRIVER_NAME": DEVICE}
        for ending in (signal.SIGTERM, signal.SIGKILL):
            out = self.folder / ending.name
            study = subprocess.Popen([sys.executable, STUDY / "run", "measure", "--bundle", bundle, "--out", out,
                                      "--worker", WORKER, "--limit", "30", "--kept", NO_ROWS], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True, env=environment)
            for line in study.stdout:
                if "the first row came" in line:
                    break
            study.send_signal(ending)
            _, errors = study.communicate(timeout=20)
            if ending == signal.SIGTERM:
                self.assertEqual((study.returncode, errors), (130, "interrupted; rows that were taken stay\n"))
            self.assertEqual([row["id"] for row in rows_in(out)], ["device", "right"])
            for _ in range(50):
                left = [file for file in pathlib.Path("/proc").glob("[0-9]*/cmdline") if str(out) in text_of(file)]
                if not left:
                    break
                time.sleep(0.1)
            self.assertEqual(left, [])

    def test_names_a_full_disk_and_keeps_the_rows_before_it(self):
        # Two plans, neither of which is as long as the rows of both.
        bundle = self.bundle(**{stage: "".join(task(f"{stage}{i}", "copy") for i in range(60))
                                for stage in ("values", "times")})

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

        done = measure(bundle, self.out, preexec=small_files)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("nvidia-h200.jsonl: cannot be written; rows that were taken stay", done.stdout)
        self.assertGreater(len(rows_in(self.out)), 3)

    def test_names_other_users_of_the_device(self):
        done = measure(self.bundle(values=task("right", "copy")), self.out, FAKE_DRIVER_PROCESSES="3",
                       FAKE_DRIVER_UTILIZATION="97")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("another process uses the device: 2 other processes compute on it and it was busy 97 %",
                      done.stdout)
        self.assertIn("shared_with", rows_in(self.out)[0])


class FromPrograms(unittest.TestCase):
    """A bundle of real programs, few of each stage."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.bundle = cls.folder / "bundle"
        cls.prepared = run("prepare", "--quick", "--chip", CHIP, "--bundle", cls.bundle, "--worker", WORKER)
        if "libnvrtc" in cls.prepared.stderr + cls.prepared.stdout:
            raise unittest.SkipTest((cls.prepared.stderr or cls.prepared.stdout).strip())
        assert cls.prepared.returncode == 0, cls.prepared.stdout + cls.prepared.stderr

    def test_prepare_says_what_a_bundle_takes(self):
        self.assertRegex(self.prepared.stdout, r"bundle: [0-9.]+ MiB of 40\n")
        self.assertRegex(self.prepared.stdout, r"h200: [0-9]+ tasks, about [0-9]+ s of 480: facts [0-9]+, values [0-9]+")
        manifest = json.loads((self.bundle / "manifest.json").read_text())
        self.assertEqual(set(manifest["expected"][CHIP]), set(stages.STAGE_NAMES))
        self.assertLess(manifest["bytes"], 40 << 20)

    def test_values_are_those_of_matrix_instructions(self):
        with zipfile.ZipFile(self.bundle / "bundle.zip") as packed:
            plan = packed.read(f"{CHIP}/values.txt").decode()
            by_instruction = {}
            for task in bundles.PlanText(plan).with_command():
                if name := re.search(r"--mma (\w+\.\w+)", task):
                    by_instruction.setdefault(name[1], []).append(task)
            self.assertEqual(set(by_instruction), {f"{unit}.{dtype}" for unit in ("wgmma", "mma")
                                                   for dtype in stages.MATRIX_DTYPES})
            maps = re.compile(r"(?m)^launch .* \w+:(0|32|64|128):")
            self.assertTrue(any(maps.search(task) for task in by_instruction["wgmma.f16"]), "no kernel loads by TMA")
            modules = {name: set(re.findall(r"(?m)^module (\S+)", "".join(tasks)))
                       for name, tasks in by_instruction.items()}
            self.assertFalse(modules["wgmma.f16"] & modules["mma.f16"], "the instruction changes nothing")

    def test_a_dry_run_compiles_the_launcher_and_refuses_what_does_not_fit(self):
        done = run("measure", "--dry-run", "--bundle", self.bundle)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"the launcher was compiled in [0-9]+ s\n")
        long = run("measure", "--dry-run", "--bundle", self.bundle, "--worker", WORKER, "--minutes", "0.01")
        self.assertEqual(long.returncode, 1)
        self.assertRegex(long.stdout, r"h200: longer than 0.01 minutes by [0-9]+ s")

    def test_every_stage_runs_and_the_tables_show_it(self):
        out = self.folder / "out"
        done = measure(self.bundle, out)
        self.assertEqual(done.returncode, 1, "this driver computes nothing: " + done.stdout + done.stderr)
        found = rows_in(out)
        self.assertEqual({row["chip"] for row in found}, {CHIP})
        self.assertEqual({row["device"] for row in found}, {DEVICE})
        programs = [row for row in found if "program" in row]
        self.assertTrue(programs)
        for row in programs:
            self.assertIn("are wrong", row["error"])
        kinds = {row["kind"] for row in found}
        self.assertLessEqual({"device", "launch", "launch_gap", "idle", "microbench"}, kinds)
        self.assertTrue(any(row.get("baseline") == "copy" and row["measured_us"] > 0 for row in found))
        shown = run("table", "--rows", out / "nvidia-h200.jsonl")
        self.assertEqual(shown.returncode, 1, "values were wrong")
        for title in ("values\n", "launches\n", "curves\n", "power\n", "wrong or failed\n"):
            self.assertIn("\n" + title, shown.stdout)
        status = run("status", "--bundle", self.bundle, "--worker", WORKER)
        self.assertRegex(status.stdout, r"h200 values: [0-9]+ of [0-9]+ left")

    def test_unknown_chips_are_named(self):
        unknown = run("prepare", "--chip", "h900", "--bundle", self.folder / "none")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("no chip file with a board is named h900", unknown.stderr)


class Boards(unittest.TestCase):
    def test_are_those_of_the_chip_files(self):
        found = boards.chips()
        self.assertEqual(found["H100 80GB HBM3"], "h100_sxm")
        self.assertEqual(boards.chip_of("NVIDIA H200"), "h200")
        self.assertIsNone(boards.chip_of("NVIDIA GH200 480GB"))
        for board, chip in found.items():
            shown = subprocess.run([BUILD / "tilescope", "arch", "show", chip, "--json"], stdout=subprocess.PIPE, text=True)
            self.assertEqual(boards.short(json.loads(shown.stdout)["board"]), board)


class Rows(unittest.TestCase):
    def test_are_kept_by_the_device_that_they_name_and_cut_off_ones_are_dropped(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            brought, kept = folder / "any.jsonl", folder / "kept"
            kept.mkdir()
            (kept / "nvidia-h200.jsonl").write_text('{"key":"a","id":"a","device":"NVIDIA H200","error":"x"}\n{"key":"b')
            brought.write_text('{"key":"a","id":"a","device":"NVIDIA H200"}\n[1]\n{"key":["c"]}\n'
                               '{"key":"d","id":"d","device":"NVIDIA A100-SXM4-40GB"}\n')
            self.assertEqual(rows_of.keep(brought, kept),
                             [("nvidia-h200.jsonl", 1, 1), ("nvidia-a100-sxm4-40gb.jsonl", 1, 1)])
            lines = (kept / "nvidia-h200.jsonl").read_text().splitlines()
            self.assertEqual([json.loads(line)["key"] for line in lines], ["a", "a"])
            with self.assertRaises(ValueError):
                rows_of.add(brought, [{"key": "n", "id": "n", "measured_us": float("nan")}])


class Tables(unittest.TestCase):
    """Figures of rows, by hand."""

    @staticmethod
    def program(name, rank, predicted, measured):
        return {"key": f"{name}{rank}", "id": name, "dtype": "f32", "rank": rank, "program": f"{name}{rank}",
                "predicted_us": predicted, "measured_us": measured, "l2": "cold"}

    def test_ranks_by_spearman_and_by_the_first_choice(self):
        rows = [self.program("a", i, predicted, measured)
                for i, (predicted, measured) in enumerate(((1, 20), (2, 10), (3, 30), (4, 40), (5, 50)))]
        (name, dtype, n, rho, top), = tables.rank_of_programs(rows)
        self.assertEqual((name, dtype, n, top), ("a", "f32", 5, 0.5))
        self.assertAlmostEqual(rho, 0.9)  # 1 - 6 * 2 / (5 * 24)

    def test_a_program_is_compared_with_the_fastest_library_that_computes(self):
        rows = [self.program("a", 0, 8, 10), self.program("a", 1, 9, 5)]
        self.assertEqual(tables.values_of([{**rows[0], "kind": "k", "values": "ok", "values_loose": "yes"},
                                           {**rows[1], "kind": "k", "values": "ok"}]), [("f32", "k", 1, 0, 0, 1)])
        for baseline, time in (("cublas", 7), ("cudnn", 6), ("copy", 1)):
            rows.append({"key": baseline, "id": "a", "dtype": "f32", "baseline": baseline, "measured_us": time, "l2": "cold"})
        self.assertEqual(tables.first_programs(rows), [("a", "f32", 8, 10, "cudnn", 6, None)])

    def test_points_of_curves_are_differences_of_two_kernels(self):
        def part(which, time, unit, **more):
            return {"key": which, "id": "c", "curve": "c", "x": 4, "part": which, "measured_us": time, "unit": unit,
                    "amount": 100, **more}
        self.assertEqual(tables.curve_points([{**part("shorter", 2, "ns"), "amount": 0}, part("longer", 4, "ns")]), [])
        for unit, value in (("ns", 20), ("GB/s", 0.05), ("cycles", 20), ("ratio", 2)):
            rows = [part("shorter", 2, unit), part("longer", 4, unit, core_mhz=1000)]
            self.assertEqual(tables.curve_points(rows), [("c", 4, value, unit)])
        self.assertEqual(tables.curve_points([part("longer", 4, "ns")]), [])


if __name__ == "__main__":
    unittest.main()
