#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What released binaries contain besides Parallax: copies the licences, and writes the bill of materials (SPDX 2.3).

    release_contents.py licences SYSTEM SOURCES FOLDER
    release_contents.py bill SYSTEM SOURCES FILE…

SYSTEM is the folder with the Debian packages that were linked, SOURCES that with the source packages that were compiled.
The bill goes to standard output. SOURCE_DATE_EPOCH is its date.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, Iterator, List

# Licences by Debian package: the source packages that were compiled, and the packages with static libraries or headers.
COMPILED = {
    "highway": "Apache-2.0",
    "onetbb": "Apache-2.0",
    "libspng": "BSD-2-Clause",
    "tinyxml2": "Zlib",
    "tiff": "libtiff",
}
LINKED = {
    "libcli11-dev": "BSD-3-Clause",
    "libdeflate-dev": "MIT",
    "libjpeg62-turbo-dev": "IJG AND BSD-3-Clause AND Zlib",
    "liblerc-dev": "Apache-2.0",
    "liblzma-dev": "LicenseRef-public-domain",
    "libstdc++-12-dev": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libwebp-dev": "BSD-3-Clause",
    "libxxhash-dev": "BSD-2-Clause",
    "libyaml-cpp-dev": "MIT",
    "libzstd-dev": "BSD-3-Clause",
    "nlohmann-json3-dev": "MIT",
    "opencl-c-headers": "Apache-2.0",
    "zlib1g-dev": "Zlib",
}
ROOT = Path(__file__).resolve().parent.parent


def documents(system: Path, name: str) -> Path:
    folder = system / "usr/share/doc" / name
    return folder.parent / os.readlink(folder) if folder.is_symlink() else folder


# The system's packages are unpacked, not installed: dpkg does not know them.
def linked_version(system: Path, name: str) -> str:
    with gzip.open(documents(system, name) / "changelog.Debian.gz", "rt") as changes:
        found = re.match(r"\S+ \((\S+)\)", changes.readline())
    assert found is not None
    return found.group(1)


def compiled_version(sources: Path, name: str) -> str:
    (description,) = sources.glob(f"{name}_*.dsc")
    found = re.search(r"^Version: (\S+)$", description.read_text(), re.MULTILINE)
    assert found is not None
    return found.group(1)


def copy_licences(system: Path, sources: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in COMPILED:
        shutil.copyfile(sources / name / "debian" / "copyright", folder / f"{name}.txt")
    for name in LINKED:
        shutil.copyfile(documents(system, name) / "copyright", folder / f"{name}.txt")
    shutil.copyfile(ROOT / "tools/view/page/NOTICE.txt", folder / "three.js.txt")


def package(name: str, version: str, licence: str, **more: Any) -> Dict[str, Any]:
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name),
        "name": name,
        "versionInfo": version,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        **more,
    }


def debian_package(name: str, version: str, licence: str, architecture: str) -> Dict[str, Any]:
    locator = f"pkg:deb/debian/{name}@{version.replace('+', '%2B')}?arch={architecture}&distro=bookworm"
    reference = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
    return package(name, version, licence, externalRefs=[reference])


def contained(system: Path, sources: Path) -> Iterator[Dict[str, Any]]:
    architecture = "arm64" if (system / "lib/ld-linux-aarch64.so.1").exists() else "amd64"
    for name, licence in COMPILED.items():
        yield debian_package(name, compiled_version(sources, name), licence, "source")
    for name, licence in LINKED.items():
        yield debian_package(name, linked_version(system, name), licence, architecture)
    page = json.loads((ROOT / "tools/view/page/package-lock.json").read_text())
    yield package("three.js", page["packages"]["node_modules/three"]["version"], "MIT")


def bill(system: Path, sources: Path, files: List[Path]) -> Dict[str, Any]:
    inside = list(contained(system, sources))
    found = re.search(r"project\(parallax VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    assert found is not None
    released = []
    for path in files:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        checksum = {"algorithm": "SHA256", "checksumValue": digest}
        released.append(package(path.name, found.group(1), "Apache-2.0", checksums=[checksum]))
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", file["SPDXID"]) for file in released]
    relations += [(file["SPDXID"], "CONTAINS", part["SPDXID"]) for file in released for part in inside]
    date = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": files[0].name,
        "documentNamespace": f"https://parallax.invalid/spdx/{released[0]['checksums'][0]['checksumValue']}",
        "creationInfo": {
            "created": date.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: scripts/release_contents.py", "Organization: The Parallax authors"],
        },
        "packages": released + inside,
        "hasExtractedLicensingInfos": [
            {
                "licenseId": "LicenseRef-public-domain",
                "name": "Public domain",
                "extractedText": "liblzma is in the public domain.",
            }
        ],
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
    }


def main() -> None:
    task, system, sources, *paths = sys.argv[1:]
    if task == "licences":
        copy_licences(Path(system), Path(sources), Path(paths[0]))
    else:
        print(json.dumps(bill(Path(system), Path(sources), [Path(path) for path in paths]), indent=1))


if __name__ == "__main__":
    main()
