# SPDX-License-Identifier: Apache-2.0
"""Effects of the environment on device ids. Pure: no core, no device.

A DLPack id is a position in the list of root devices, and three variables determine that list.
`explain_hierarchy` describes their effects in an environment.
"""

from collections.abc import Mapping

#: The variables that change the meaning of ids, in the order in which they act.
VARIABLES = ("ZE_FLAT_DEVICE_HIERARCHY", "ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR")

#: Modes of ZE_FLAT_DEVICE_HIERARCHY.
_MODES = {
    "FLAT": "each tile of an Intel GPU is a root device with its own id; no root device can be "
    "partitioned into tiles",
    "COMPOSITE": "each Intel GPU card is one root device with one id; its tiles are its "
    "sub-devices, which have no DLPack id; create_sub_devices('numa') adds them to the device "
    "table",
    "COMBINED": "each tile of an Intel GPU is a root device with its own id, as in FLAT; Level "
    "Zero itself also exposes the card of each tile",
}


def explain_hierarchy(environment: Mapping[str, str], *, has_devices: bool = False) -> list[str]:
    """Return sentences about the effects of an environment, such as ``os.environ``, on device ids.

    One is about the hierarchy mode, and one about each other variable that is set. A value that is
    known to fail adds a warning, unless devices were listed in spite of it (`has_devices`).
    """
    hierarchy, mask, selector = (environment.get(name, "").strip() for name in VARIABLES)
    mode = hierarchy.upper() or "FLAT"
    if not hierarchy:
        line = (
            f"{VARIABLES[0]} is not set; drivers since late 2023 default to {mode}: "
            f"{_MODES[mode]} (older drivers default to COMPOSITE; set the variable to be sure)"
        )
    elif mode in _MODES:
        line = f"{VARIABLES[0]}={mode}: {_MODES[mode]}"
    else:
        known = ", ".join(_MODES)
        line = f"{VARIABLES[0]}={hierarchy} is not one of {known}, so the driver uses its default"
    lines = [line]
    if mask:
        note = ""
        if "." in mask and mode == "COMPOSITE":
            note = "; if only one tile of a card remains, that tile is a root device"
        elif "." in mask:
            note = "; entries with a dot are for ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE"
        lines.append(
            f"ZE_AFFINITY_MASK={mask} exposes only these Level Zero devices, and their ids start "
            f"at 0: (14, 0) is the first of them{note}"
        )
    return lines + _explain_selector(selector, has_devices=has_devices)


def _explain_selector(selector: str, *, has_devices: bool) -> list[str]:
    terms = [term.strip() for term in selector.split(";") if term.strip()]
    accepted = [term for term in terms if not term.startswith("!")]
    rejected = [term[1:] for term in terms if term.startswith("!")]
    effects = {"lists only the devices": accepted, "hides those": rejected}
    does = [f"{what} that match {' or '.join(some)}" for what, some in effects.items() if some]
    lines = []
    if terms:
        lines.append(
            f"ONEAPI_DEVICE_SELECTOR={selector} {' and '.join(does)}; ids number the remaining "
            "devices, in every library of the process"
        )
    if any("." in term.partition(":")[2] for term in accepted):
        lines.append(
            "a term with a dot makes sub-devices the root devices of this process, with ids and "
            "default contexts like those of cards"
        )
    backends = {term.partition(":")[0].lower() for term in accepted}
    hides_level_zero = any(term.lower().startswith("level_zero:*") for term in rejected)
    lists_no_level_zero = "opencl" in backends and not backends & {"*", "level_zero"}
    if (hides_level_zero or lists_no_level_zero) and not has_devices:
        lines.append(
            "warning: with the 2026.2 wheels of the runtime, a selector without Level Zero fails "
            'with "UR adapter initialization failed"; use "*:cpu" or "opencl:*;level_zero:*"'
        )
    return lines
