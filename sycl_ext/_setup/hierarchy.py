# SPDX-License-Identifier: Apache-2.0
"""Effects of the environment on device ids. Pure: no core, no device.

A DLPack id is a position in the list of root devices, and three variables determine that list.
`explain_hierarchy` describes their effects in an environment.
"""

from __future__ import annotations

from collections.abc import Mapping

#: The variables that change the meaning of ids, in the order in which they act.
VARIABLES = ("ZE_FLAT_DEVICE_HIERARCHY", "ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR")

#: Modes of ZE_FLAT_DEVICE_HIERARCHY.
_MODES = {
    "FLAT": "each tile of an Intel GPU is a root device with an id of its own; no device of the "
    "list can be cut into tiles",
    "COMPOSITE": "each Intel GPU card is one root device with one id; its tiles are its "
    "sub-devices, without ids in DLPack, and create_sub_devices('numa') gives them entries",
    "COMBINED": "each tile of an Intel GPU is a root device with an id of its own, as in FLAT; "
    "Level Zero itself also knows the card behind it",
}
_DEFAULT_MODE = "FLAT"


def explain_hierarchy(environment: Mapping[str, str]) -> list[str]:
    """Return sentences about the effects of an environment, such as ``os.environ``, on device ids.

    One is about the hierarchy mode, one about each other variable that is set, and a warning about
    each value that is known to go wrong.
    """
    flat = _mode(environment) != "COMPOSITE"
    lines = [_explain_mode(environment)]
    if mask := environment.get("ZE_AFFINITY_MASK", "").strip():
        lines.append(_explain_mask(mask, flat))
    if selector := environment.get("ONEAPI_DEVICE_SELECTOR", "").strip():
        lines += _explain_selector(selector)
    return lines


def _mode(environment: Mapping[str, str]) -> str:
    return environment.get("ZE_FLAT_DEVICE_HIERARCHY", "").strip().upper() or _DEFAULT_MODE


def _explain_mode(environment: Mapping[str, str]) -> str:
    name, mode = "ZE_FLAT_DEVICE_HIERARCHY", _mode(environment)
    if not environment.get(name, "").strip():
        return (
            f"{name} is not set, which means {mode} with drivers since late 2023: {_MODES[mode]} "
            "(older drivers meant COMPOSITE: set it to be sure)"
        )
    if mode not in _MODES:
        known = ", ".join(_MODES)
        return f"{name}={environment[name]} is none of {known}: the driver goes by its default"
    return f"{name}={mode}: {_MODES[mode]}"


def _explain_mask(mask: str, flat: bool) -> str:
    entries = [entry.strip() for entry in mask.split(",") if entry.strip()]
    what = [_mask_entry(entry, flat) for entry in entries]
    text = (
        f"ZE_AFFINITY_MASK={mask} leaves of the Level Zero devices only {_join(what)}, and the "
        "ids start again at 0: (14, 0) is then the first one that is left"
    )
    if any("." in entry for entry in entries):
        text += (
            "; entries with a dot are for ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE"
            if flat
            else "; a card of which one tile is left is that tile, as a root device"
        )
    return text


def _mask_entry(entry: str, flat: bool) -> str:
    card, dot, tile = entry.partition(".")
    if not dot:
        return f"device {card}" if flat else f"card {card} with its tiles"
    return f"tile {tile} of card {card}"


def _explain_selector(selector: str) -> list[str]:
    terms = [term.strip() for term in selector.split(";") if term.strip()]
    accepted = [term for term in terms if not term.startswith("!")]
    rejected = [term[1:] for term in terms if term.startswith("!")]
    parts = []
    if accepted:
        parts.append("lists only the devices that match " + _join(accepted, "or"))
    if rejected:
        parts.append("hides those that match " + _join(rejected, "or"))
    lines = [
        f"ONEAPI_DEVICE_SELECTOR={selector} {' and '.join(parts)}; ids count the remaining "
        "devices, in every library of the process alike"
    ]
    if any("." in term.partition(":")[2] for term in accepted):
        lines.append(
            "a term with a dot makes sub-devices the root devices of this process: they have ids "
            "and default contexts as cards have"
        )
    backends = {term.partition(":")[0].lower() for term in accepted}
    hides_level_zero = any(term.lower().startswith("level_zero:*") for term in rejected)
    if (backends and not backends & {"*", "level_zero"} and "opencl" in backends) or (
        hides_level_zero
    ):
        lines.append(
            "warning: with the 2026.2 wheels of the runtime a selector without Level Zero ends in "
            '"UR adapter initialization failed"; use "*:cpu" or "opencl:*;level_zero:*"'
        )
    return lines


def _join(words: list[str], last: str = "and") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
