# SPDX-License-Identifier: Apache-2.0
"""The Python module against the command line, and what it promises of errors, threads and ends: library_test.py BUILD."""
import csv
import doctest
import json
import os
import pickle
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from pathlib import Path

BUILD = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(BUILD / "python"))

import tilescope as ts  # noqa: E402

PRODUCT = "C[m,n] +=! A[m,k] * B[k,n]"
try:
    import pandas
except ImportError:
    pandas = None


def command(*arguments):
    done = subprocess.run([BUILD / "tilescope", *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return done.stdout



def sweep_file(folder, points=6):
    """A small sweep, in the form of the command line's files."""
    counts = ", ".join(str(8 * (i + 1)) for i in range(points // 2))
    path = Path(folder) / "small.yaml"
    path.write_text(f"sweep: small\nbase: v100\naxes:\n  memory.smem.banks: [32, 64]\n  core.count: [{counts}]\n"
                    "workloads:\n  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', size: 'm=256,n=256,k=256'}\n"
                    "  - {op: 'O[i] = exp(I[i])', size: 'i=65536'}\n")
    return str(path)


class Answers(unittest.TestCase):
    def test_construct_says_what_the_command_line_says(self):
        seed = random.SystemRandom().randrange(1 << 30)
        draw = random.Random(seed)
        for _ in range(4):
            m, n, k = (draw.choice([64, 96, 200, 256, 500]) for _ in "mnk")
            device = draw.choice(["v100", "a100", "h200", "ipu_gc200"])
            dtype = draw.choice(["f16", "f32"])
            with self.subTest(seed=seed, m=m, n=n, k=k, device=device, dtype=dtype):
                says = json.loads(command("compile", "--arch", device, "--op", PRODUCT, "--size", f"m={m},n={n},k={k}",
                                          "--dtype", dtype, "--top", 3, "--json"))["operators"][0]["programs"]
                best = ts.construct(ts.Operator(PRODUCT, m=m, n=n, k=k, dtype=dtype), ts.Chip(device), top=3)
                self.assertEqual([p["predicted_us"] for p in says], best["predicted_us"])
                self.assertEqual([p["bottleneck"] for p in says], [row.bottleneck for row in best])
                self.assertEqual([p["program"] for p in says], [json.loads(row.program) for row in best])
                for term, us in says[0]["terms"].items():
                    self.assertEqual(best[0]["term." + term.replace(" ", "_")], us)

    def test_a_changed_chip_is_that_of_set(self):
        chip = ts.Chip("v100")
        chip["memory.smem.banks"] = 16
        chip["core.count"] = 40
        says = json.loads(command("compile", "--arch", "v100", "--set", "memory.smem.banks=16", "--set", "core.count=40",
                                  "--op", PRODUCT, "--size", "m=256,n=256,k=256", "--top", 1, "--json"))
        best = ts.construct(ts.Operator(PRODUCT, m=256, n=256, k=256), chip, top=1)
        self.assertEqual(best[0].predicted_us, says["operators"][0]["programs"][0]["predicted_us"])
        self.assertEqual((chip["memory.smem.banks"], chip["core.count"]), (16, 40))
        other = chip.copy()
        other["core.count"] = 20
        self.assertEqual((chip["core.count"], other["core.count"]), (40, 20))

    def test_programs_are_asked_about_again(self):
        best = ts.construct(ts.Operator(PRODUCT, m=256, n=256, k=256), ts.Chip("v100"), top=2)
        self.assertEqual(best.predict()["predicted_us"], best["predicted_us"])
        simulated = best.simulate()
        self.assertEqual(len(simulated), 2)
        self.assertTrue(all(0.3 < s / p < 3 for s, p in zip(simulated["simulated_us"], best["predicted_us"])))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ts.Note)
            fewer = ts.Chip("v100").with_(core__count=20)
        elsewhere = best.predict(fewer)
        self.assertGreater(elsewhere[0].predicted_us, best[0].predicted_us)

    def test_explain_names_the_cores(self):
        rows = ts.explain(ts.Operator(PRODUCT, m=1024, n=1024, k=1024), ts.Chip("v100"))
        self.assertLess(next(r.elasticity for r in rows if r.path == "clock"), -0.3)

    def test_networks(self):
        says = json.loads(command("network", "bert-base", "--arch", "h200", "--dtype", "f16", "--json"))
        groups = ts.construct(ts.Network("bert-base", dtype="f16"), ts.Chip("h200"))
        self.assertEqual(groups.document()["total"], says["total"])
        self.assertAlmostEqual(sum(groups["predicted_us"]), says["total"]["predicted_us"], places=6)

    def test_area_and_price(self):
        chip = ts.Chip("h200")
        says = json.loads(command("arch", "show", "h200", "--area", "--price", "--json"))
        self.assertEqual((chip.area_mm2, chip.price_usd), (says["area"]["total_mm2"], says["price"]["total_usd"]))
        self.assertAlmostEqual(sum(chip.area["mm2"]), chip.area_mm2, places=9)

    def test_a_judge_ranks_anew(self):
        work = ts.Operator(PRODUCT, m=256, n=256, k=256)
        worst_first = ts.construct(work, ts.Chip("v100"), top=5, judge=lambda row: -row.predicted_us)
        times = worst_first["predicted_us"]
        self.assertEqual(times, sorted(times, reverse=True))
        with self.assertRaisesRegex(ZeroDivisionError, "by zero"):
            ts.construct(work, ts.Chip("v100"), judge=lambda row: 1 / 0)

    def test_every_option_is_taken_with_its_usual_value(self):
        work, chip = ts.Operator("O[i] = exp(I[i])", i=1024), ts.Chip("v100")
        usual = {row.option: row.usual for row in ts.options() if row.usual}
        self.assertIn("fuse", usual)
        self.assertEqual(ts.construct(work, chip, **usual)["predicted_us"], ts.construct(work, chip)["predicted_us"])

    @unittest.skipIf(pandas is None, "no pandas")
    def test_pandas_has_every_cell_and_unit(self):
        best = ts.construct(ts.Suite("examples"), ts.Chip("v100"), top=2)
        frame = best.to_pandas()
        self.assertEqual(list(frame.columns), list(best.columns))
        self.assertEqual(frame.attrs["units"]["predicted_us"], "us")
        for place, row in enumerate(best):
            for name in best.columns:
                cell, expected = frame[name].iloc[place], row[name]
                self.assertTrue(cell == expected or (expected is None and pandas.isna(cell)), (place, name))
        self.assertIn("<td>", best._repr_html_())


class Mistakes(unittest.TestCase):
    def test_places(self):
        with self.assertRaises(ts.InputError) as raised:
            ts.Chip.read("extends: v100\ncore:\n  count: many\n", "mine.yaml")
        self.assertIn(("mine.yaml", 3, 10), [(m.file, m.line, m.column) for m in raised.exception.messages])
        self.assertEqual(str(pickle.loads(pickle.dumps(raised.exception))), str(raised.exception))

    def test_all_are_refused_with_their_reason(self):
        chip, work = ts.Chip("v100"), ts.Operator(PRODUCT, m=64, n=64, k=64)

        def change():
            chip["memory.smem.bunks"] = 3

        for wrong, says in [
            (lambda: ts.Chip("h2000"), "did you mean"),
            (change, "memory.smem.bunks"),
            (lambda: chip["core.bogus"], "no such value"),
            (lambda: ts.Operator(PRODUCT, m=64), "n"),
            (lambda: ts.Operator("C[m,n", m=64, n=1), "op:1:6: expected"),
            (lambda: ts.Suite("rolle"), "did you mean"),
            (lambda: ts.Network("bert-bas"), "did you mean"),
            (lambda: ts.construct(work, chip, topp=3), "did you mean 'top'"),
            (lambda: ts.construct(work, chip, top=0), "from 1 to 1000"),
            (lambda: ts.construct(work, chip, fuse="al"), "one of none, inline, all"),
            (lambda: ts.construct(ts.Programs("{}"), chip), "predict or simulate"),
            (lambda: ts.verify(ts.Network("bert-base"), chip), "programs of its table"),
            (lambda: ts.explain(ts.Programs("{}"), chip), "explain their operators"),
            (lambda: ts.Chip.read("extends: ipu_gc200\ndie: {name: other}", "x.yaml").area, "die"),
            (lambda: ts.read("/nowhere.db"), "/nowhere.db"),
            (lambda: ts.sweep("/nowhere.yaml", "/tmp/never.db").wait(), "/nowhere.yaml"),
        ]:
            with self.subTest(says=says):
                self.assertRaisesRegex(ts.InputError, says, wrong)
        self.assertEqual(chip["memory.smem.banks"], 32)  # as before the change that was refused

    def test_a_number_without_its_unit(self):
        chip = ts.Chip("v100")

        def without():
            chip["clock"] = 1380

        self.assertRaisesRegex(ts.InputError, "unit|MHz", without)
        self.assertRaisesRegex(ts.InputError, "mine.yaml:2:8: ", lambda: ts.Chip.read("extends: v100\nclock: 1380\n", "mine.yaml"))

    def test_stores_of_other_versions(self):
        with tempfile.TemporaryDirectory() as folder:
            store = f"{folder}/s.db"
            ts.sweep(sweep_file(folder, points=2), store).wait()
            for change, says in [("PRAGMA user_version = 99", "schema version 99.*use the tilescope that made it"),
                                 ("PRAGMA user_version = 13; DROP VIEW results; ALTER TABLE rows DROP COLUMN waves",
                                  "another build of tilescope.*no waves.*sweep into another file")]:
                with sqlite3.connect(store) as file:
                    file.executescript(change)
                file.close()
                self.assertRaisesRegex(ts.InputError, says, lambda: ts.read(store))

    def test_a_line_that_is_no_program_is_a_row_with_its_place(self):
        row = ts.predict(ts.Programs("{}\n", "mine.jsonl"), ts.Chip("v100"))[0]
        self.assertIsNone(row.predicted_us)
        self.assertIn("mine.jsonl:1", row.error)

    def test_columns_are_named(self):
        table = ts.devices()
        with self.assertRaisesRegex(KeyError, "did you mean 'device'"):
            table["devise"]
        with self.assertRaises(AttributeError):
            table[0].devise  # noqa: B018
        with self.assertRaises(IndexError):
            table[len(table)]

    def test_notes_are_warnings(self):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            chip = ts.Chip("v100")
            chip["core.count"] = 20
        self.assertTrue(seen)
        self.assertTrue(all(issubclass(w.category, ts.Note) and w.filename == __file__ for w in seen))


class Sweeps(unittest.TestCase):
    def test_rows_are_those_of_export(self):
        with tempfile.TemporaryDirectory() as folder:
            file, store = sweep_file(folder), f"{folder}/s.db"
            rows = list(ts.sweep(file, store))
            command("export", store, "-o", f"{folder}/s.csv")
            with open(f"{folder}/s.csv", newline="", encoding="utf-8") as text:
                expected = list(csv.DictReader(text))
            table = ts.read(store)
            self.assertEqual(len(rows), len(expected))
            self.assertEqual(list(table.columns), list(expected[0]))
            for row, cells in zip(table, expected):
                for name, cell in cells.items():
                    value = row[name]
                    same = (cell == "" if value is None else float(cell) == value if isinstance(value, (int, float)) and
                            not isinstance(value, bool) else cell == str(value).lower() if isinstance(value, bool) else
                            cell == value)
                    self.assertTrue(same, (name, cell, value))
            again = ts.sweep(file, store).wait()
            self.assertEqual(again.computed, 0)

    @unittest.skipIf(pandas is None, "no pandas")
    def test_a_frame_is_the_table_of_export(self):
        with tempfile.TemporaryDirectory() as folder:
            store = f"{folder}/s.db"
            Path(folder, "s.yaml").write_text(  # with points that are refused, programs that fail, and figures of energy
                "sweep: s\nbase: h200\naxes:\n  memory.smem.capacity: [228 KiB, 1 KiB]\n  clock: [1 GHz, 1.5 GHz]\n"
                "workloads:\n  - {suite: examples}\n  - {op: 'O[i] = exp(I[i])', size: 'i=65536'}\n")
            ts.sweep(f"{folder}/s.yaml", store).wait()
            command("export", store, "-o", f"{folder}/s.csv")
            frame = ts.read(store).to_pandas()
            with open(f"{folder}/s.csv", newline="", encoding="utf-8") as text:
                header, *lines = csv.reader(text)
            self.assertEqual((list(frame.columns), len(frame)), (header, len(lines)))
            self.assertGreater(frame["error"].notna().sum(), 0)
            self.assertIn("energy_uj", header)
            for name, *cells in zip(header, *lines):
                for cell, value in zip(cells, frame[name]):
                    same = (cell == "" if pandas.isna(value) else cell == str(bool(value)).lower()
                            if str(frame[name].dtype).startswith("bool") else cell == value if isinstance(value, str)
                            else float(cell) == value)
                    self.assertTrue(same, (name, cell, value))

    def test_a_chip_answers_after_its_sweep(self):
        chip, work = ts.Chip("v100"), ts.Operator(PRODUCT, m=256, n=256, k=256)
        before = ts.predict(work, chip)[0].predicted_us
        with tempfile.TemporaryDirectory() as folder:
            rows = list(ts.sweep(sweep_file(folder), f"{folder}/s.db"))
            self.assertEqual(ts.predict(work, chip)[0].predicted_us, before)
        self.assertGreater(rows[0].predicted_us, 0)  # and a row after its store is gone

    def test_ctrl_c_ends_a_loop_over_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            file, store = sweep_file(folder, points=2000), f"{folder}/s.db"
            with self.assertRaises(KeyboardInterrupt):
                for _ in ts.sweep(file, store, jobs=1):
                    os.kill(os.getpid(), signal.SIGINT)
            self.assertGreater(len(ts.read(store)), 0)

    def test_the_interpreter_ends_in_the_midst_of_a_sweep(self):
        with tempfile.TemporaryDirectory() as folder:
            file, store = sweep_file(folder, points=2000), f"{folder}/s.db"
            code = (f"import sys, time; sys.path.insert(0, {str(BUILD / 'python')!r}); import tilescope as ts\n"
                    f"sweep = ts.sweep({file!r}, {store!r}, jobs=1)\n"
                    "while not sweep.done: time.sleep(0.01)\n")
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertGreater(len(ts.read(store)), 0)

    def test_stop_keeps_what_is_finished(self):
        with tempfile.TemporaryDirectory() as folder:
            file, store = sweep_file(folder, points=400), f"{folder}/s.db"
            sweep = ts.sweep(file, store, jobs=1)
            while sweep.done < 5 and sweep.computed is None:
                time.sleep(0.01)
            sweep.stop()
            first = sweep.computed
            rest = ts.sweep(file, store).wait().computed
            self.assertGreater(first, 0)
            self.assertGreater(rest, 0)
            self.assertEqual(ts.sweep(file, store).wait().computed, 0)
            self.assertEqual(len(ts.read(store)), 2 * (400 + 1))

    def test_ctrl_c_ends_a_loop(self):
        with tempfile.TemporaryDirectory() as folder:
            file, store = sweep_file(folder, points=2000), f"{folder}/s.db"
            sweep = ts.sweep(file, store, jobs=1)

            def interrupt():
                while not sweep.done:
                    time.sleep(0.01)
                os.kill(os.getpid(), signal.SIGINT)

            threading.Thread(target=interrupt).start()
            with self.assertRaises(KeyboardInterrupt):
                sweep.table()
            self.assertGreater(len(ts.read(store)), 0)


class Behaviour(unittest.TestCase):
    def test_questions_leave_other_threads_alone(self):
        work, chip = ts.Suite("examples"), ts.Chip("v100")
        ticks, done = [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.perf_counter())
                time.sleep(0.001)

        ticker = threading.Thread(target=tick)
        ticker.start()
        begin = time.perf_counter()
        ts.construct(work, chip, jobs=1)
        took = time.perf_counter() - begin
        done.set()
        ticker.join()
        during = [t for t in ticks if begin <= t <= begin + took]
        self.assertGreater(len(during), 3)

    def test_two_threads_ask_at_a_time(self):
        work, chip = ts.Operator(PRODUCT, m=256, n=256, k=256), ts.Chip("v100")
        expected = ts.construct(work, chip)["predicted_us"]
        found = []
        threads = [threading.Thread(target=lambda: found.append(ts.construct(work, chip)["predicted_us"])) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(found, [expected] * 4)

    def test_a_child_after_a_simulation_works(self):
        best = ts.construct(ts.Operator(PRODUCT, m=128, n=128, k=128), ts.Chip("v100"), top=1)
        best.simulate()
        child = os.fork()
        if child == 0:
            os._exit(0 if best.predict()[0].predicted_us == best[0].predicted_us else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_memory_does_not_grow(self):
        def resident():
            return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")

        programs = ts.construct(ts.Operator("O[i] = exp(I[i])", i=1024), ts.Chip("v100"), top=1).programs()
        chip = ts.Chip("v100")

        def many(n):
            for _ in range(n):
                ts.predict(programs, chip, jobs=1)
            return resident()

        many(500)
        before = many(500)
        self.assertLess(many(3000) - before, 4 << 20)


def load_tests(loader, tests, pattern):
    import tilescope._chip, tilescope._messages, tilescope._questions, tilescope._work  # noqa: E401

    for module in (ts, tilescope._chip, tilescope._messages, tilescope._questions, tilescope._work):
        tests.addTests(doctest.DocTestSuite(module))
    return tests


if __name__ == "__main__":
    unittest.main(warnings="default")
