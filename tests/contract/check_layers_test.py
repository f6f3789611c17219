#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants violations of the layering in a small tree and expects tools/check_layers.py to find each of them."""
import json
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import check_layers  # noqa: E402

SOUND = {
    "base/units.h": "#include <cstdint>\n#include <fmt/core.h>\n",
    "base/document.cc": "#include <yaml-cpp/yaml.h>\n#include \"base/units.h\"\n",
    "arch/spec.h": '#include "base/units.h"\n',
    "expr/expression.h": '#include "base/units.h"\n',
    "tile/program.h": '#include "arch/spec.h"\n#include "expr/expression.h"\n',
    "lower/kernel.h": '#include "base/units.h"\n#include "expr/expression.h"\n',
    "lower/lowering.h": '#include "lower/kernel.h"\n#include "tile/program.h"\n',
    "sim/memory/dram.cc": '#include <systemc>\n#include "lower/kernel.h"\n',
    "api/compile.h": "#include <string>\n",
    "api/compile.cc": '#include "api/compile.h"\n#include "tile/program.h"\n',
    "cli/main.cc": '#include <CLI/CLI.hpp>\n#include "api/compile.h"\n',
    "tests/unit/arch/schema_test.cc": '#include <gtest/gtest.h>\n#include <rapidcheck.h>\n#include "arch/spec.h"\n',
}


RULES = json.loads((ROOT / "tools/layers.json").read_text())


class CheckLayersTest(unittest.TestCase):
    def check(self, files=None):
        """Problems and notes of the sound tree with the changed files."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**SOUND, **(files or {})}.items():
                file = Path(folder) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return check_layers.check(Path(folder), check_layers.Rules(RULES))

    def problems_of_table(self, **folders):
        return check_layers.Rules({**RULES, "folders": {**RULES["folders"], **folders}}).problems

    def expect_one(self, path, text, expected):
        problems, _ = self.check(files={path: text})
        self.assertEqual(problems, [expected])

    def test_the_sound_tree_has_no_problem(self):
        self.assertEqual(self.check(), ([], []))

    def test_sources_that_do_not_say_their_licence(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"a.cc": check_layers.LICENCE, "b.h": "#pragma once\n" + check_layers.LICENCE,
                               "c.cuh": "", "d.py": ""}.items():
                (Path(folder) / name).write_text(text)
            self.assertEqual(check_layers.unlicensed(Path(folder)),
                             ["b.h:1: the first line is not // SPDX-License-Identifier: Apache-2.0"])

    def test_a_forbidden_folder(self):
        self.expect_one("arch/load.h", '\n#include "tile/program.h"\n',
                        "arch/load.h:2: arch may not include tile: arch/load.h -> tile/program.h")

    def test_base_knows_nobody(self):
        problems, _ = self.check(files={"base/hash.cc": '#include "arch/spec.h"\n'})
        self.assertEqual(problems, ["base/hash.cc:1: base may not include arch: base/hash.cc -> arch/spec.h"])

    def test_a_forbidden_folder_reached_through_a_header_shows_the_chain(self):
        self.expect_one("sim/gpu.cc", '#include "lower/lowering.h"\n',
                        "sim/gpu.cc:1: sim may not include tile: sim/gpu.cc -> lower/lowering.h -> tile/program.h")

    def test_only_the_file_at_fault_is_reported(self):
        problems, _ = self.check(files={"cli/table.h": '#include "tile/program.h"\n',
                                        "cli/print.cc": '#include "cli/table.h"\n'})
        self.assertEqual({line.split(":")[0] for line in problems}, {"cli/table.h"})

    def test_cycles_of_includes_end(self):
        problems, _ = self.check(files={"arch/a.h": '#include "arch/b.h"\n', "arch/b.h": '#include "arch/a.h"\n'})
        self.assertEqual(problems, [])

    def test_the_simulator_never_sees_the_model(self):
        self.expect_one("sim/gpu.cc", '#include "model/time.h"\n', 'sim/gpu.cc:1: "model/time.h": no such file from the root')
        problems, _ = self.check(files={"model/simt/time.h": "", "sim/gpu.cc": '#include "model/simt/time.h"\n'})
        self.assertEqual(problems, ["sim/gpu.cc:1: sim may not include model/simt: sim/gpu.cc -> model/simt/time.h"])

    def test_experiments_see_what_a_model_says_and_not_the_model(self):
        problems, _ = self.check(files={"model/common/estimate.h": "", "model/simt/machine.h": "",
                                        "api/verify/x.cc": '#include "model/common/estimate.h"\n',
                                        "api/verify/y.cc": '#include "model/simt/machine.h"\n'})
        self.assertEqual(problems, ["api/verify/y.cc:1: api/verify may not include model/simt: "
                                    "api/verify/y.cc -> model/simt/machine.h"])

    def test_nobody_above_targets_asks_for_a_chips_class(self):
        asks = "bool is_gpu(const ArchSpec& a) {\n  return a.chip_class == ChipClass::kGpu;\n}\n"
        self.expect_one("cli/main.cc", asks, "cli/main.cc:2: cli may not say ChipClass::: ask the chip's row (targets/target.h)")
        self.assertEqual(self.check(files={"targets/target.cc": asks}), ([], []))

    def test_the_table_is_sound(self):
        self.assertEqual(self.problems_of_table(), [])

    def test_a_table_with_a_cycle(self):
        self.assertEqual(self.problems_of_table(base=["arch"]),
                         ["tools/layers.json: folders in a cycle: base -> arch -> base"])

    def test_a_table_that_names_no_row(self):
        self.assertEqual(self.problems_of_table(arch=["base", "bas", "bas/*"]),
                         ["tools/layers.json: arch: no row 'bas'", "tools/layers.json: arch: no row 'bas/*'"])

    def test_a_file_belongs_to_the_longest_row(self):
        self.expect_one("experiments/x.cc", "", "experiments/x.cc:1: no row of tools/layers.json covers this folder")
        problems, _ = self.check(files={"experiments/store/store.h": "",
                                        "api/x.cc": '#include "experiments/store/store.h"\n',
                                        "experiments/sweep/x.cc": '#include "experiments/store/store.h"\n'})
        self.assertEqual(problems, ["api/x.cc:1: api may not include experiments/store: "
                                    "api/x.cc -> experiments/store/store.h"])

    def test_a_pattern_names_the_rows_below(self):
        rules = check_layers.Rules(RULES)
        self.assertIn("experiments/store", rules.folders["cli"])
        self.assertNotIn("sim", rules.folders["cli"])
        self.assertIn("sim", rules.folders["tests"])
        self.assertNotIn("backends/cuda/device", rules.folders["api"])

    def test_experiments_may_not_include_cli(self):
        problems, _ = self.check(files={"cli/table.h": "", "experiments/sweep/x.cc": '#include "cli/table.h"\n'})
        self.assertEqual(problems, ["experiments/sweep/x.cc:1: experiments/sweep may not include cli: "
                                    "experiments/sweep/x.cc -> cli/table.h"])

    def test_the_kernel_includes_base_and_expr_and_what_fragments_are(self):
        self.expect_one("lower/kernel.h", '#include "arch/spec.h"\n',
                        "lower/kernel.h:1: lower/kernel.h may not include arch: lower/kernel.h -> arch/spec.h")
        problems, _ = self.check(files={"lower/map.h": "", "lower/kernel.h": '#include "lower/map.h"\n'})
        self.assertEqual(problems, ["lower/kernel.h:1: lower/kernel.h may not include lower: lower/kernel.h -> lower/map.h"])
        kernel = '#include "arch/fragment.h"\n'
        problems, _ = self.check(files={"arch/fragment.h": "#include <vector>\n", "lower/kernel.h": kernel})
        self.assertEqual(problems, [])
        self.expect_one("arch/fragment.h", '#include "arch/spec.h"\n',
                        "arch/fragment.h:1: arch/fragment.h may not include arch: arch/fragment.h -> arch/spec.h")

    def test_a_library_of_another_folder(self):
        self.expect_one("arch/load.cc", "#include <yaml-cpp/yaml.h>\n",
                        "arch/load.cc:1: arch may not use yaml-cpp: arch/load.cc -> yaml-cpp")
        self.expect_one("arch/schema.cc", "#include <rapidcheck.h>\n",
                        "arch/schema.cc:1: arch may not use rapidcheck: arch/schema.cc -> rapidcheck")
        self.expect_one("experiments/report/x.cc", "#include <SQLiteCpp/SQLiteCpp.h>\n",
                        "experiments/report/x.cc:1: experiments/report may not use sqlite: experiments/report/x.cc -> sqlite")
        self.expect_one("model/simt/x.cc", "#include <omp.h>\n",
                        "model/simt/x.cc:1: model/simt may not use openmp: model/simt/x.cc -> openmp")

    def test_a_library_that_leaks_through_a_header(self):
        problems, _ = self.check(files={"base/yaml.h": "#include <yaml-cpp/yaml.h>\n",
                                        "arch/load.cc": '#include "base/yaml.h"\n'})
        self.assertEqual(problems, ["arch/load.cc:1: arch may not use yaml-cpp: arch/load.cc -> base/yaml.h -> yaml-cpp"])

    def test_an_unlisted_library(self):
        self.expect_one("base/x.cc", "#include <indicators>\n",
                        "base/x.cc:1: <indicators>: neither standard nor in tools/layers.json")
        self.expect_one("base/x.cc", "#include <base/units.h>\n",
                        "base/x.cc:1: <base/units.h>: neither standard nor in tools/layers.json")

    def test_an_unknown_folder(self):
        self.expect_one("helpers/x.h", "", "helpers/x.h:1: no row of tools/layers.json covers this folder")
        self.expect_one("x.cc", "", "x.cc:1: no row of tools/layers.json covers this folder")

    def test_includes_not_written_from_the_root(self):
        self.expect_one("arch/load.cc", '#include "../base/units.h"\n',
                        'arch/load.cc:1: "../base/units.h": includes are written from the root, without ..')
        self.expect_one("arch/load.cc", '#include "spec.h"\n', 'arch/load.cc:1: "spec.h": no such file from the root')

    def test_an_include_spelled_by_a_macro(self):
        self.expect_one("arch/load.cc", "#include HEADER\n",
                        "arch/load.cc:1: include of 'HEADER': neither \"...\" nor <...>")

    def test_comments_and_emitted_text_are_no_includes(self):
        text = '// #include "tile/program.h"\n/*\n#include <a.h>\n*/\nauto t = R"cu(\n#include <mma.h>\n)cu";\n'
        self.assertEqual(self.check(files={"arch/load.cc": text}), ([], []))

    def test_lines_are_counted_right_after_a_comment(self):
        self.expect_one("arch/load.cc", '/*\n\n*/\n#include "tile/program.h"\n',
                        "arch/load.cc:4: arch may not include tile: arch/load.cc -> tile/program.h")

    def test_long_files(self):
        _, notes = self.check(files={"arch/long.cc": "\n" * 301})
        self.assertEqual(notes, ["arch/long.cc: 301 lines; more than 300 earn a look"])
        self.assertEqual(self.check(files={"arch/long.cc": "\n" * 300}), ([], []))
        self.expect_one("arch/long.cc", "\n" * 501, "arch/long.cc: 501 lines; more than 500 are refused: split it")

    def test_build_folders_are_left_alone(self):
        self.assertEqual(self.check(files={"build-x/generated.h": "", ".cache/x.cc": ""}), ([], []))


if __name__ == "__main__":
    unittest.main()
