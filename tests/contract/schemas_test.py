#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON Schemas of chips, suites, networks and sweeps, under a validator that shares no code with the readers."""

import json
import os
import re
import sys
import unittest
from pathlib import Path

try:
    import yaml
except ImportError:  # the packages are of Debian's Python, which another may stand before
    if sys.executable == "/usr/bin/python3":
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
try:
    import jsonschema
except ImportError:
    jsonschema = None

ROOT = Path(__file__).resolve().parents[2]

# Mistakes that only the loader can see: figures that do not agree, names that are nowhere, keys that JSON drops.
WELL_FORMED_CHIPS = set("""
    bounds_of_caches bsp_keys_of_warps bsp_overheads bsp_tiles bsp_wide_load bsp_without_exchange bsp_without_link
    cache_before_partitions cache_lines cache_sectors cache_sets cache_slices cluster_of_too_many cluster_scratchpad
    cluster_without_width controller_watermarks controller_without copies_of_none cycle_a cycle_b cycle_of_one die
    dram_at_no_port dram_between_cores dram_of_an_exchange dram_ports duplicate_key duplicate_key_of_a_variant
    exchange_of_clusters exchange_of_rectangles extends_nothing extends_twice fragment_loads fragment_maps fragments
    granules key_of_another_kind keys_of_an_exchange keys_of_bsp keys_of_pseudo_channels_on_bsp level_called_latency
    level_order levels_of_one_role levels_without_role made_by_the_file many_caches mapping mapping_below_capacity
    mapping_cuts_lines mapping_folds_itself mapping_folds_nothing mapping_folds_twice mapping_gap
    memory_side_in_core memory_with_core minimal minimal_bsp minimal_memory neighbour_without_base no_latency
    outer_caches overflow partial_write_alone partial_writes_of_two_caches peak_contradicts ports_of_scratchpads
    pseudo_channels refresh_of_one_bank refresh_per_bank register_banks register_banks_without reserved
    rows_and_banks sector_beyond_line shares_elsewhere shares_itself shares_unknown threads timing timing_groups
    timing_refresh timing_rows timing_windows timing_without_rows too_wide two_drams wide_access wide_burst
    wider_warp write_granule_alone
""".split())
# Expressions, values of variables, and what they come to.
WELL_FORMED_SUITES = {"expressions", "given", "given_to_none"}
# Lines, names, shapes, and what they come to.
WELL_FORMED_NETWORKS = set("""
    extends_a_mistake extends_itself extends_no_nodes extends_nothing given given_to_none growing lines names notation repetition shapes
    twice
    """.split())
# Paths and values that the base does not have, expressions, and their effects.
WELL_FORMED_SWEEPS = set("""
    followers formulas lacking multi_fidelity_cost multi_fidelity_no_number multi_fidelity_of_nothing negative_follower
    other_class program_lines refused sequence too_many unmet unmet_together
    """.split())


class Refused(yaml.YAMLError):
    """YAML that no reader here takes."""


class CoreLoader(yaml.SafeLoader):
    """The core schema of YAML 1.2, as the readers take it: no aliases, no tags, text keys."""
    yaml_implicit_resolvers = {}
    yaml_constructors = {**yaml.SafeLoader.yaml_constructors}

    def compose_node(self, parent, index):
        event = self.peek_event()
        if getattr(event, "anchor", None) or getattr(event, "tag", None) not in (None, "!"):
            raise Refused(f"an anchor, an alias or a tag at {event.start_mark}")
        return super().compose_node(parent, index)

    def construct_mapping(self, node, deep=False):
        return {key.value: self.construct_object(value, deep=True) for key, value in node.value}


def integer(loader, node):
    return int(node.value, 0 if re.match("0[xo]", node.value) else 10)


def real(loader, node):
    return float(re.sub(r"\.(inf|nan)$", r"\1", node.value.lower()))


FIRST = list("-+.0123456789~nNtTfF") + [""]
for kind, pattern, constructor in (
        ("null", r"~|null|Null|NULL|", None),
        ("bool", r"true|True|TRUE|false|False|FALSE", None),
        ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", integer),
        ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", real)):
    CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(f"(?:{pattern})$"), FIRST)
    if constructor:
        CoreLoader.add_constructor(f"tag:yaml.org,2002:{kind}", constructor)


def read(path):
    """The document of a YAML file, or None where it is no YAML that the readers take."""
    try:
        return yaml.load(path.read_bytes(), CoreLoader)
    except yaml.YAMLError:
        return None


class CoreLoaderTest(unittest.TestCase):
    def test_scalars(self):
        text = "[1, -2, +3, 010, 0x1F, 0o17, 1e3, .5, 2., true, yes, on, null, ~, '1', 1:30, 1_000, 32 B, .inf]"
        expected = [1, -2, 3, 10, 31, 15, 1000.0, 0.5, 2.0, True, "yes", "on", None, None, "1", "1:30", "1_000", "32 B",
                    float("inf")]
        self.assertEqual(yaml.load(text, CoreLoader), expected)
        self.assertEqual(yaml.load("{1: a, true: b}", CoreLoader), {"1": "a", "true": "b"})

    def test_what_the_readers_refuse(self):
        for text in ("a: &b 1", "a: *b", "a: !!int 1", "a: 1\n---\nb: 2", "a: [", "a: {<<: 1, b: \x01}"):
            with self.assertRaises(yaml.YAMLError, msg=text):
                yaml.load(text, CoreLoader)


@unittest.skipUnless(jsonschema, "jsonschema is missing (apt-get install python3-jsonschema)")
class SchemasTest(unittest.TestCase):
    def validator(self, path):
        schema = json.loads((ROOT / path).read_text())
        kind = jsonschema.validators.validator_for(schema)
        kind.check_schema(schema)
        return kind(schema)

    def expect_valid(self, validator, files):
        for path in files:
            with self.subTest(path.relative_to(ROOT)):
                problem = jsonschema.exceptions.best_match(validator.iter_errors(read(path)))
                self.assertIsNone(problem, problem and problem.message)

    def expect_refused(self, validator, folder, well_formed):
        """Every document of a folder but the well-formed ones; those that are no YAML count as refused."""
        files = sorted((ROOT / folder).glob("*.yaml"))
        self.assertLessEqual(well_formed, {path.stem for path in files})
        for path in files:
            with self.subTest(path.relative_to(ROOT)):
                document = read(path)
                self.assertEqual(document is not None and validator.is_valid(document), path.stem in well_formed)

    def test_chips(self):
        validator = self.validator("arch/schema.json")
        chips = sorted((ROOT / "arch/devices").glob("*.yaml"))
        self.assertGreater(len(chips), 20)
        of_studies = (ROOT / "experiments/studies").glob("*/chips/*.yaml")
        self.expect_valid(validator, [*chips, *of_studies, ROOT / "docs/my_chip.yaml", ROOT / "docs/tutorial/lite.yaml"])
        self.expect_refused(validator, "tests/error/arch", WELL_FORMED_CHIPS)

    def test_suites(self):
        validator = self.validator("expr/suite.schema.json")
        suites = sorted((ROOT / "expr/suites").glob("*.yaml"))
        self.assertGreater(len(suites), 5)
        self.expect_valid(validator, suites)
        self.expect_refused(validator, "tests/error/suite", WELL_FORMED_SUITES)

    def test_networks(self):
        validator = self.validator("graph/network.schema.json")
        networks = sorted((ROOT / "graph/networks").glob("*.yaml"))
        self.assertGreater(len(networks), 20)
        self.expect_valid(validator, networks)
        self.expect_refused(validator, "tests/error/network", WELL_FORMED_NETWORKS)

    def test_sweeps(self):
        validator = self.validator("experiments/sweep/schema.json")
        sweeps = sorted((ROOT / "experiments/studies").glob("*/*.yaml"))
        self.assertGreaterEqual(len(sweeps), 5)
        self.expect_valid(validator, [*sweeps, ROOT / "docs/tutorial/sweep.yaml"])
        self.expect_refused(validator, "tests/error/sweep", WELL_FORMED_SWEEPS)


if __name__ == "__main__":
    unittest.main()
