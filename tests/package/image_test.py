#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The container image of a small root, and of tests/package/run's: every reference is the digest of what it names."""
import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools/oci_image.py"


def problems_of(path):
    """What is wrong with an image."""
    out = []
    with tarfile.open(path) as tar:
        names = tar.getnames()

        def blob(reference):
            name = "blobs/" + reference["digest"].replace(":", "/")
            if name not in names:
                out.append(f"{name} is missing")
                return b""
            content = tar.extractfile(name).read()
            if f"sha256:{hashlib.sha256(content).hexdigest()}" != reference["digest"]:
                out.append(f"{name} has another digest")
            if len(content) != reference["size"]:
                out.append(f"{name} has {len(content)} bytes, not {reference['size']}")
            return content

        def document(name):
            return json.load(tar.extractfile(name))

        if document("oci-layout")["imageLayoutVersion"] != "1.0.0":
            out.append("oci-layout: another version")
        manifest = json.loads(blob(document("index.json")["manifests"][0]) or b"null")
        config = json.loads(blob(manifest["config"]) or b"null")
        layers = [gzip.decompress(blob(layer)) for layer in manifest["layers"]]
        diff_ids = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]
        if config["rootfs"]["diff_ids"] != diff_ids:
            out.append("diff_ids are not those of the layers")
        program = config["config"]["Entrypoint"][0].lstrip("/")
        with tarfile.open(fileobj=io.BytesIO(layers[0])) as root:
            if not any(name.lstrip("./") == program for name in root.getnames()):
                out.append(f"no {program} in the root")
        docker = document("manifest.json")[0]
        for name in [docker["Config"], *docker["Layers"]]:
            if name not in names:
                out.append(f"manifest.json: {name} is missing")
    return out


def make_root(path):
    with tarfile.open(path, "w") as tar:
        content = b"#!/bin/sh\necho here\n"
        entry = tarfile.TarInfo("./usr/bin/tilescope")
        entry.size, entry.mode = len(content), 0o755
        tar.addfile(entry, io.BytesIO(content))


class Images(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        make_root(self.folder / "root.tar")

    def image(self, name="image.tar"):
        subprocess.run([sys.executable, TOOL, self.folder / "root.tar", self.folder / name, "tilescope:9.8"], check=True,
                       stdout=subprocess.DEVNULL)
        return self.folder / name

    def test_every_reference_is_a_digest(self):
        self.assertEqual(problems_of(self.image()), [])

    def test_a_changed_byte_is_found(self):
        image = self.image()
        content = bytearray(image.read_bytes())
        at = content.index(b'"diff_ids"') + 40
        content[at] = ord("0") if content[at] != ord("0") else ord("1")
        image.write_bytes(content)
        self.assertNotEqual(problems_of(image), [])

    def test_the_same_root_gives_the_same_image(self):
        self.assertEqual(self.image("a.tar").read_bytes(), self.image("b.tar").read_bytes())


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].endswith(".tar"):
        found = problems_of(sys.argv[1])
        sys.exit("\n".join(found) if found else 0)
    unittest.main()
