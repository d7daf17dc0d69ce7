# SPDX-License-Identifier: Apache-2.0
"""Virtual environments that have Kymo as an installation leaves it."""
import os
import shutil
import sysconfig
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def site_of(folder: Path) -> Path:
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))


def install(site: Path, build: Path):
    """Put the package of @build into @site, with what pip leaves beside it: its entry points, and a list of all its files."""
    shutil.copytree(build / "python" / "kymo", site / "kymo", ignore=shutil.ignore_patterns("__pycache__"))
    about = site / "kymo-0.dist-info"
    about.mkdir()
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: kymo\nVersion: 0\n")
    (about / "entry_points.txt").write_text("".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in members.items()) for group, members in points.items()))
    files = [path.relative_to(site) for path in (site / "kymo").rglob("*") if path.is_file()]
    (about / "RECORD").write_text("".join(f"{path},,\n" for path in sorted(files)))


def make(folder: Path, build: Path, *, shared=()) -> Path:
    """The interpreter of a new environment in @folder with the Kymo of @build; @shared: folders with other packages."""
    venv.create(folder, symlinks=True)
    site = site_of(folder)
    install(site, build)
    shutil.copy(build / "bin" / "kymo", folder / "bin")
    for name in "kymo.pth", "kymo.start":
        shutil.copy(ROOT / "pyext" / name, site)
    if shared:
        (site / "shared.pth").write_text("".join(f"{os.fspath(path)}\n" for path in shared))
    return folder / "bin" / "python"


def of_the_tests() -> Path:
    """Where the packages lie that the tests themselves use."""
    return Path(sysconfig.get_path("purelib"))
