# SPDX-License-Identifier: Apache-2.0
"""What tilescope predicts of measured rows: programs, or operators of which the first program counts."""

import json
import tempfile

OPERATOR = ("id", "op", "sizes", "dtype", "shapes")


def of_programs(tilescope, chip, rows):
    """Rows of a comparison by id. `tilescope` runs a command and returns its document."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as batch:
        batch.writelines(json.dumps(row) + "\n" for row in rows)
        batch.flush()
        return {row["id"]: row for row in tilescope("predict", "--arch", chip, "--batch", batch.name)["rows"]}


def of_operators(tilescope, chip, rows):
    """First programs by the operator's id; None where the chip cannot run it."""
    suite = {"operators": [{key: row[key] for key in OPERATOR if key in row} for row in rows]}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        json.dump(suite, file)
        file.flush()
        found = tilescope("compile", "--arch", chip, "--suite", file.name, "--top", "1")["operators"]
    return {op["id"]: op["programs"][0] if op["programs"] else None for op in found}


def times(row):
    """Predicted and roofline microseconds; None where there is no prediction."""
    if row is None or "predicted_us" not in row:
        return None
    return row["predicted_us"], row["predicted_us"] * row["speed_of_light_ratio"]
