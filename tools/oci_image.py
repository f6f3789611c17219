#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs a root file system into a container image of one layer: an OCI layout that holds docker's manifest too.

    tools/oci_image.py root.tar image.tar tilescope:0.1.0
"""
import gzip
import hashlib
import io
import json
import platform
import sys
import tarfile
import tempfile
from pathlib import Path

CHUNK = 1 << 20
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def sha256_of(stream):
    digest = hashlib.sha256()
    while block := stream.read(CHUNK):
        digest.update(block)
    return digest.hexdigest()


def json_of(value):
    return json.dumps(value, sort_keys=True).encode()


def config_of(diff_id, architecture):
    """What the image runs: `podman run tilescope compile ..` is `tilescope compile ..`."""
    return {"architecture": architecture, "os": "linux",
            "config": {"Entrypoint": ["/usr/bin/tilescope"], "Cmd": ["--help"], "WorkingDir": "/work",
                       "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{diff_id}"]}}


class Image:
    """A tar whose entries have neither dates nor owners, so that the same root gives the same image."""

    def __init__(self, path):
        self.tar = tarfile.open(path, "w")

    def add(self, name, stream, size):
        entry = tarfile.TarInfo(name)
        entry.size = size
        self.tar.addfile(entry, stream)

    def add_blob(self, content):
        digest = hashlib.sha256(content).hexdigest()
        self.add(f"blobs/sha256/{digest}", io.BytesIO(content), len(content))
        return {"digest": f"sha256:{digest}", "size": len(content)}

    def add_json(self, name, value):
        content = json_of(value)
        self.add(name, io.BytesIO(content), len(content))


def write(root, out, tag, architecture):
    with tempfile.TemporaryFile() as layer:
        with open(root, "rb") as whole:
            diff_id = sha256_of(whole)
            whole.seek(0)
            with gzip.GzipFile(fileobj=layer, mode="wb", compresslevel=6, mtime=0, filename="") as packed:
                while block := whole.read(CHUNK):
                    packed.write(block)
        size = layer.tell()
        layer.seek(0)
        digest = sha256_of(layer)
        layer.seek(0)
        image = Image(out)
        image.add(f"blobs/sha256/{digest}", layer, size)
    media = "application/vnd.oci.image"
    config = {"mediaType": f"{media}.config.v1+json", **image.add_blob(json_of(config_of(diff_id, architecture)))}
    manifest = {"schemaVersion": 2, "mediaType": f"{media}.manifest.v1+json", "config": config,
                "layers": [{"mediaType": f"{media}.layer.v1.tar+gzip", "digest": f"sha256:{digest}", "size": size}]}
    entry = {"mediaType": f"{media}.manifest.v1+json", **image.add_blob(json_of(manifest)),
             "annotations": {"org.opencontainers.image.ref.name": tag.partition(":")[2],
                             "io.containerd.image.name": f"docker.io/library/{tag}"}}
    image.add_json("index.json", {"schemaVersion": 2, "manifests": [entry]})
    image.add_json("oci-layout", {"imageLayoutVersion": "1.0.0"})
    path = "blobs/sha256/{}".format
    image.add_json("manifest.json", [{"Config": path(config["digest"].partition(":")[2]), "RepoTags": [tag],
                                      "Layers": [path(digest)]}])
    image.tar.close()


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    root, out, tag = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    write(root, out, tag, ARCHITECTURES.get(platform.machine(), platform.machine()))
    print(f"{out}: {out.stat().st_size / 1e6:.0f} MB, its root {root.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
