#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python adds: to a prediction over the same loop in C, to a sweep over the command line; and how long a DataFrame of
a stored sweep takes. Seconds of the former are those of processors, the least of several repetitions, in turn:
python_bench.py BUILD [STORE]

    tests/perf/python_bench.py build
"""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
sys.path.insert(0, str(BUILD / "python"))

import tilescope as ts  # noqa: E402

CALLS, REPEATS, TURNS = 1000, 4, 5
IN_C = r"""
#include <stdio.h>
#include <time.h>
#include <tilescope/tilescope.h>
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
int main(void) {
  tilescope_chip* chip = tilescope_chip_open("v100", NULL);
  tilescope_work* op = tilescope_work_operator("O[i] = exp(I[i])", "i=1024", "", "", NULL);
  tilescope_table* best = tilescope_construct(op, chip, NULL, NULL);
  char* programs = tilescope_table_programs(best);
  *(strchr(programs, '\n') + 1) = 0;
  tilescope_work* work = tilescope_work_programs(programs, "programs", NULL);
  tilescope_options* options = tilescope_options_new();
  tilescope_options_set(options, "jobs", "1", NULL);
  double least = 1e9, sum = 0;
  for (int r = 0; r < REPEATS; ++r) {
    const double begin = seconds();
    for (int i = 0; i < CALLS; ++i) {
      tilescope_messages* messages = tilescope_messages_new();
      tilescope_table* t = tilescope_predict(work, chip, options, messages);
      sum += tilescope_table_number_of(t, 0, "predicted_us");
      tilescope_table_free(t);
      tilescope_messages_free(messages);
    }
    const double took = seconds() - begin;
    if (took < least) least = took;
  }
  printf("%.9f %f\n", least / CALLS, sum);
  return 0;
}
"""


def least(work, repeats=REPEATS):
    out = float("inf")
    for _ in range(repeats):
        begin = time.process_time()
        work()
        out = min(out, time.process_time() - begin)
    return out


def timed(work):
    """What it returns, and its seconds: those that passed, and those of processors, which threads share."""
    begin, own = time.perf_counter(), time.process_time()
    out = work()
    return out, f"{time.perf_counter() - begin:.2f} s ({time.process_time() - own:.2f} s of processors)"


def loop_in_c(folder):
    (folder / "loop.c").write_text("#include <string.h>\n" + IN_C)
    subprocess.run(["cc", "-O2", f"-DCALLS={CALLS}", f"-DREPEATS={REPEATS}", f"-I{ROOT}/include", folder / "loop.c", "-o",
                    folder / "loop", f"-L{BUILD}", "-ltilescope", f"-Wl,-rpath,{BUILD}"], check=True)
    return lambda: float(subprocess.run([folder / "loop"], check=True, capture_output=True, text=True).stdout.split()[0])


def loop_in_python():
    chip = ts.Chip("v100")
    best = ts.construct(ts.Operator("O[i] = exp(I[i])", i=1024), chip, top=1)
    programs = best.programs()

    def loop():
        for _ in range(CALLS):
            ts.predict(programs, chip, jobs=1).number(0, "predicted_us")

    return lambda: least(loop) / CALLS


def in_turn(first, second):
    """The least of each where they run in turn: what else the machine does meets both."""
    return map(min, zip(*((first(), second()) for _ in range(TURNS))))


def sweeps(folder):
    file, store = folder / "s.yaml", folder / "s.db"
    file.write_text("sweep: s\nbase: v100\naxes:\n  memory.smem.banks: [16, 32, 64]\n  core.count: [40, 60, 80, 100]\n"
                    "workloads:\n  - {suite: examples}\n")

    def children():
        t = os.times()
        return t.children_user + t.children_system

    def in_python():
        code = (f"import sys, time; sys.path.insert(0, {str(BUILD / 'python')!r}); import tilescope as ts\n"
                f"begin = time.process_time(); ts.sweep({str(file)!r}, {str(store)!r}, jobs=1).wait()\n"
                "print(time.process_time() - begin)")
        store.unlink(missing_ok=True)
        return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)

    def in_shell():
        store.unlink(missing_ok=True)
        begin = children()
        subprocess.run([BUILD / "tilescope", "sweep", file, "--store", store, "--jobs", "1"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return children() - begin

    return in_turn(in_python, in_shell)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        c, python = in_turn(loop_in_c(folder), loop_in_python())
        print(f"a prediction: {1e6 * c:.2f} us in C, {1e6 * python:.2f} us in Python: {1e6 * (python - c):.2f} us more")
        python, shell = sweeps(folder)
        print(f"a sweep of 143 rows: {shell:.3f} s by the command line, {python:.3f} s in Python: "
              f"{100 * (python / shell - 1):.1f} % more")
    if len(sys.argv) > 2:
        table, read = timed(lambda: ts.read(sys.argv[2]))
        frame, turned = timed(table.to_pandas)
        print(f"a DataFrame of {len(frame)} rows and {len(frame.columns)} columns: {read} to read, {turned} to turn into "
              "pandas")


main()
