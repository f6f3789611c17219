# SPDX-License-Identifier: Apache-2.0
"""At the GPU: stages in order of worth, each within its share of the time. Rows are kept as they are taken."""

import ctypes
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import boards
import bundle as bundles
import counters
import rows as rows_of
import stages
import tables
import torch_rows

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
DONE, FAILED, STOPPED = 0, 1, 3
TABLE_SECONDS = 10  # kept for the table at the end
GRACE_SECONDS = 3   # for what ends a moment late


class CannotMeasure(Exception):
    """Why nothing can be measured here, in a sentence."""


# --- the launcher

def with_pip_libraries():
    """The environment in which libraries that Python's packages brought are found too."""
    folders = [str(lib) for entry in sys.path if entry
               for lib in sorted(pathlib.Path(entry).glob("nvidia/*/lib")) if lib.is_dir()]
    known = os.environ.get("LD_LIBRARY_PATH", "")
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, [known, *folders]))}


def build_worker(folder):
    """The launcher, of the standard library alone; its sources are compiled side by side."""
    sources = [*sorted((ROOT / "backends/cuda/device").glob("*.cc")), ROOT / "backends/cuda/library.cc"]
    compiler = os.environ.get("CXX", "g++").split()
    objects = [folder / f"{number}.o" for number in range(len(sources))]
    worker = folder / "tilescope_gpu"
    try:
        running = [subprocess.Popen([*compiler, "-O1", "-std=c++20", f"-I{ROOT}", "-c", str(s), "-o", str(o)])
                   for s, o in zip(sources, objects)]
        failed = any([process.wait() != 0 for process in running])
        failed = failed or subprocess.run([*compiler, *map(str, objects), "-ldl", "-pthread", "-o",
                                           str(worker)]).returncode != 0
    except OSError as error:
        raise CannotMeasure(f"the launcher cannot be compiled here: {error}") from None
    if failed:
        raise CannotMeasure("the launcher cannot be compiled here")
    return worker


def worker_of(options, folder):
    if options.worker and not options.worker.exists():
        raise CannotMeasure(f"{options.worker} is not there")
    return options.worker or build_worker(folder)


def expected(bundle, options, measured=None):
    """By chip and stage: tasks, tasks left and seconds of those, as the launcher reads the plans."""
    out = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        began = time.monotonic()
        worker = worker_of(options, folder)
        if not options.worker:
            print(f"the launcher was compiled in {time.monotonic() - began:.0f} s", flush=True)
        files = rows_of.device_files(measured) if measured else []
        done = [word for file in files for word in ("--done", file)]
        known = {key for file in files for key, row in rows_of.read(file).items() if "error" not in row}
        for chip in bundle.chips():
            plans = folder / chip
            plans.mkdir()
            bundle.unpack(chip, plans)
            out[chip] = {}
            for stage in stages.STAGES:
                if stage.tool == "torch":
                    operators = json.loads((plans / "torch.json").read_text())
                    left = sum(torch_rows.key(operator) not in known for operator in operators)
                    out[chip][stage.name] = {"tasks": len(operators), "left": left, "seconds": 10 + 0.4 * left}
                    continue
                checked = subprocess.run([worker, plans / f"{stage.name}.txt", "--check", *done],
                                         stdout=subprocess.PIPE, text=True)
                found = re.fullmatch(r"(\d+) tasks, (\d+) left: (\d+) bytes, (\d+) samples, (\d+) library calls, "
                                     r"([0-9.]+) s of runs\n", checked.stdout)
                if not found:
                    raise CannotMeasure(f"{chip} {stage.name}: the launcher cannot read the plan")
                seconds = stages.expected_seconds(*map(float, found.groups()[1:]))
                if stage.tool == "ncu":
                    operators = {operator for operator, _ in bundles.launches((plans / f"{stage.name}.txt").read_text())}
                    found = [None, len(operators), sum(counters.key(operator) not in known for operator in operators)]
                    seconds = counters.EXPECTED_SECONDS if found[2] else 0.0
                out[chip][stage.name] = {"tasks": int(found[1]), "left": int(found[2]), "seconds": round(seconds, 1)}
    return out


# --- the device

def device_of(worker):
    found = subprocess.run([worker, "--device"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env=with_pip_libraries())
    if found.returncode != 0:
        raise CannotMeasure(found.stderr.strip())
    try:
        return json.loads(found.stdout)
    except json.JSONDecodeError:
        raise CannotMeasure(f"{worker} does not describe the device") from None


def chip_of(device, bundle):
    chip = boards.chip_of(device["device"])
    if chip is None:
        raise CannotMeasure(f"no chip file describes a {device['device']}; there are files of "
                            f"{', '.join(boards.chips())}")
    if chip not in bundle.chips():
        raise CannotMeasure(f"the bundle holds no code for {chip}, which describes this {device['device']}; "
                            f"'experiments/studies/gpu/run prepare --chip {chip}' makes it")
    return chip


def other_users(device):
    """What says that another process uses the device; empty where nothing does."""
    out = []
    if device.get("compute_processes", 0) > 1:
        out.append(f"{device['compute_processes'] - 1} other processes compute on it")
    if device.get("utilization_percent", 0) > 20:
        out.append(f"it was busy {device['utilization_percent']} % of the last second")
    return " and ".join(out)


# --- stages

def end_with_parent():
    """In a child: it is killed when this program ends, however that ends."""
    set_death_signal = 1  # PR_SET_PDEATHSIG
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


class Session:
    """One run of `measure`: its time, its files and the outcome of each stage."""

    def __init__(self, bundle, options, out, measured):
        self.began = time.monotonic()
        self.total = 60 * options.minutes - TABLE_SECONDS
        self.options, self.bundle, self.measured = options, bundle, measured
        self.out = out
        self.left_over = []  # stages with tasks that were not reached
        self.failed = []     # stages that could not run
        self.first_row = None
        self.log = None
        self.broken = ""  # why no further stage can run

    def left(self):
        return self.total - (time.monotonic() - self.began)

    def say(self, text):
        print(text, flush=True)
        if self.log:
            try:
                self.log.write(text + "\n")
                self.log.flush()
            except OSError:  # a full disk
                self.log = None

    def open_files(self, device):
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            self.rows = self.out / rows_of.file_name(device["device"])
            self.log = (self.out / "log.txt").open("a", encoding="utf-8")
            (self.out / "device.json").write_text(json.dumps(device, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise CannotMeasure(f"{self.out}: {error.strerror}") from None

    def run_all(self, worker, device, chip, plans):
        self.worker, self.device, self.chip, self.plans = worker, device, chip, plans
        spare = 0.0
        for stage in stages.STAGES:
            budget = min(stage.share * self.total + spare, self.left())
            began = time.monotonic()
            status = self.run_stage(stage, budget)
            if status == STOPPED:
                self.left_over.append(stage)
            elif status == FAILED:
                self.failed.append(stage)
            spare = max(0.0, budget - (time.monotonic() - began))
            if self.broken:
                break
        for stage in [] if self.broken else list(self.left_over):
            if self.left() > 1 and self.run_stage(stage, self.left()) != STOPPED:
                self.left_over.remove(stage)
        if self.left_over and not self.broken:
            return STOPPED
        known = {**self.before, **rows_of.read(self.rows)}
        wrong = self.broken or self.failed or any("error" in row for row in known.values())
        return FAILED if wrong else DONE

    def run_stage(self, stage, seconds):
        began = time.monotonic()
        before = rows_of.read(self.rows)
        if seconds <= 0:
            status = STOPPED
        else:
            run = {"worker": self.run_worker, "torch": self.run_torch, "ncu": self.run_ncu}[stage.tool]
            try:
                status = run(stage, seconds)
            except OSError as error:  # a full disk
                self.broken = f"{error.filename or self.out}: {error.strerror}"
                status = FAILED
            except Exception as error:  # a fault of ours in one stage loses no other's rows
                self.say(f"{stage.name}: {type(error).__name__}: {error}")
                status = FAILED
        after = rows_of.read(self.rows)
        new = [row for key, row in after.items() if before.get(key) != row]
        failed = [row for row in new if "error" in row]
        wrong = sum(row.get("values") == "wrong" for row in new)
        self.say(f"{stage.name}: {len(new)} rows, {wrong} wrong, {len(failed) - wrong} failed otherwise, "
                 f"{time.monotonic() - began:.0f} s" + (": time is up" if status == STOPPED else ""))
        for row in failed:
            self.say(f"  {row['id']}: {row['error']}")
        return status

    def run_worker(self, stage, seconds):
        """Runs a plan; its rows are counted as they come."""
        command = [self.worker, str(self.plans / f"{stage.name}.txt"), "--rows", str(self.rows), "--done",
                   str(self.measured / self.rows.name), "--seconds", f"{seconds:.1f}", "--limit",
                   f"{self.options.limit:g}"]
        # A task that hangs ends by its limit; one that goes on for longer than that ends here.
        for attempt in (1, 2):
            returned, error = self.run_for(command, seconds + self.options.limit, self.note_row)
            if returned in (DONE, STOPPED):
                return returned
            reason = error or f"the launcher ended with status {returned}"
            self.say(f"{stage.name}: {reason}")
            if "cannot be written" in reason:
                self.broken = reason
            if self.broken or attempt == 2:
                return FAILED
            time.sleep(2)  # a device may take a moment after a kernel that was ended
        return FAILED

    def note_row(self, line):
        if self.first_row is None and '"key":' in line:
            self.first_row = time.monotonic() - self.began
            self.say(f"the first row came after {self.first_row:.0f} s")

    def run_for(self, command, seconds, take_line, environment=None):
        """Status and stderr of a program, which is ended with its children after the seconds, or when time is up."""
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment or with_pip_libraries(), start_new_session=True,
                                   preexec_fn=end_with_parent)
        seconds = min(seconds, self.left() + GRACE_SECONDS)
        timer = threading.Timer(max(seconds, 0.1), lambda: os.killpg(process.pid, signal.SIGKILL))
        timer.daemon = True
        timer.start()
        errors = []
        reader = threading.Thread(target=lambda: errors.append(process.stderr.read()), daemon=True)
        reader.start()
        try:
            for line in process.stdout:
                take_line(line)
            returned = process.wait()
            reader.join(GRACE_SECONDS)
        finally:
            timer.cancel()
            if process.poll() is None:  # this program was interrupted
                os.killpg(process.pid, signal.SIGKILL)
        return (STOPPED if returned == -signal.SIGKILL else returned), "".join(errors).strip()

    def run_torch(self, stage, seconds):
        """PyTorch's rows, where this Python has it and a GPU for it."""
        command = [sys.executable, str(HERE / "torch_rows.py"), str(self.plans / "torch.json"), "--rows",
                   str(self.rows), "--done", str(self.measured / self.rows.name), "--seconds", f"{seconds:.1f}",
                   "--chip", self.chip]
        returned, error = self.run_for(command, seconds, self.note_row)
        if returned not in (DONE, STOPPED):
            self.say(f"{stage.name}: left out: {error.splitlines()[-1] if error else 'no reason given'}")
            return DONE
        return returned

    def run_ncu(self, stage, seconds):
        """Hardware counters, where ncu is found and may read them."""
        ncu = counters.installed()
        if ncu is None:
            self.say(f"{stage.name}: left out: no ncu on the PATH")
            return DONE
        plan = self.plans / f"{stage.name}.txt"
        operators = {operator for operator, _ in bundles.launches(plan.read_text(encoding="utf-8"))}
        if all(counters.key(operator) in self.before for operator in operators):
            return DONE
        if seconds < counters.EXPECTED_SECONDS:  # ncu writes its table last
            return STOPPED
        output = self.out / "ncu.csv"
        output.unlink(missing_ok=True)
        command = counters.command(ncu, output, self.device["capability"], [self.worker, str(plan), "--once"])
        # The libraries that pip brought are not those of ncu.
        returned, error = self.run_for(command, seconds, lambda line: None, environment=dict(os.environ))
        simulated = json.loads((self.plans / f"{stage.name}.json").read_text())
        try:
            found = counters.rows(output, plan.read_text(encoding="utf-8"), simulated)
            for line in counters.errors(output):
                self.say(f"{stage.name}: {line}")
        except counters.NoCounters as reason:
            self.say(f"{stage.name}: left out: {reason} {error}".rstrip())
            return STOPPED if returned == STOPPED else DONE
        facts = {"device": self.device["device"], "driver": self.device["driver"], "chip": self.chip, "date": now()}
        rows_of.add(self.rows, [{**row, **facts} for row in found])
        return returned if returned == STOPPED else DONE


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def measure(bundle, options, out, measured):
    session = Session(bundle, options, out, measured)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        worker = worker_of(options, folder)
        compiled = time.monotonic() - session.began
        device = device_of(worker)
        chip = chip_of(device, bundle)
        session.open_files(device)
        session.say(f"{device['device']}, driver {device['driver']}, as {chip}; "
                    f"the launcher was compiled in {compiled:.0f} s")
        users = other_users(device)
        if users:
            session.say(f"warning: another process uses the device: {users}; times and power are not its own alone")
        session.before = {**rows_of.read(measured / session.rows.name), **rows_of.read(session.rows)}
        plans = folder / "plans"
        try:
            plans.mkdir()
            bundle.unpack(chip, plans)
        except OSError as error:
            raise CannotMeasure(f"the bundle cannot be unpacked: {error.strerror}") from None
        device_row = {"id": "device", "key": f"device {device['device']} {now()}", "kind": "device", "chip": chip,
                      "date": now(), **device, **({"shared_with": users} if users else {})}
        try:
            rows_of.add(session.rows, [device_row])
        except OSError as error:
            raise CannotMeasure(f"{session.rows}: {error.strerror}") from None
        status = session.run_all(worker, device, chip, plans)
        if session.left_over:
            session.say("not all reached: " + ", ".join(stage.name for stage in session.left_over))
        if session.failed:
            session.say("could not run: " + ", ".join(stage.name for stage in session.failed))
        if session.broken:
            session.say(f"ended early: {session.broken}; rows that were taken stay in {session.rows}")
        tables.short(session.rows, session.say)
        session.say(f"{time.monotonic() - session.began:.0f} s in all; rows are in {session.rows}")
    return status
