# SPDX-License-Identifier: Apache-2.0
"""Questions to a driver of Level Zero, of which the answers do not depend on the machine.

    python tests/support/environments.py neo_v1 --python tests/support/level_zero/questions.py

The stand-in must answer like Intel's driver: `test_driver_answers.py` asks both. All of them go
through the loader that the adapter has loaded.
"""

from __future__ import annotations

import ctypes
import json
import math
import mmap
import os
from ctypes import byref, c_size_t, c_uint32, c_uint64, c_void_p

import dpctl

DEVICE_DESCRIPTION, HOST_DESCRIPTION, CONTEXT_DESCRIPTION = 0x15, 0x16, 0xD
SIZES = (1, 64, 4096, 65536, 100_000, 1 << 20, (1 << 20) + 1, 1 << 21)
KINDS = ("device", "host", "shared")


class AllocationProperties(ctypes.Structure):
    _fields_ = (
        ("stype", c_uint32),
        ("next", c_void_p),
        ("type", c_uint32),
        ("id", c_uint64),
        ("page_size", c_uint64),
    )


class DeviceProperties(ctypes.Structure):
    _fields_ = (
        ("stype", c_uint32),
        ("next", c_void_p),
        *((name, c_uint32) for name in ("type", "vendor", "id", "flags", "tile", "clock")),
        ("largest", c_uint64),
        ("others", c_uint32 * 7),
        ("timer", c_uint64),
        ("valid_bits", c_uint32 * 2),
        ("uuid", ctypes.c_uint8 * 16),
        ("name", ctypes.c_char * 256),
    )


class MemoryProperties(ctypes.Structure):
    _fields_ = (
        ("stype", c_uint32),
        ("next", c_void_p),
        *((name, c_uint32) for name in ("flags", "clock", "width")),
        ("total", c_uint64),
        ("name", ctypes.c_char * 256),
    )


class ExtensionProperties(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char * 256), ("version", c_uint32))


class QueueGroup(ctypes.Structure):
    _fields_ = (
        ("stype", c_uint32),
        ("next", c_void_p),
        ("flags", c_uint32),
        ("largest_pattern", c_size_t),
        ("queues", c_uint32),
    )


class Cache(ctypes.Structure):
    _fields_ = (("stype", c_uint32), ("next", c_void_p), ("flags", c_uint32), ("size", c_size_t))


class CacheLine(ctypes.Structure):
    _fields_ = (("stype", c_uint32), ("next", c_void_p), ("size", c_size_t))


class Number(ctypes.Structure):
    """What hangs on the properties of a device, and has one number."""

    _fields_ = (("stype", c_uint32), ("next", c_void_p), ("number", c_uint64))


class VectorWidths(ctypes.Structure):
    _fields_ = (("stype", c_uint32), ("next", c_void_p), ("widths", c_uint32 * 15))


class SystemMemory(ctypes.Structure):
    _fields_ = (("stype", c_uint32), ("next", c_void_p), ("address", c_void_p), ("size", c_uint64))


class Driver:
    """The first card of the process, with two contexts."""

    def __init__(self) -> None:
        dpctl.get_devices()  # loads the adapter, which initializes the driver
        folder = os.environ["ZEL_LIBRARY_PATH"]
        self.ze = ctypes.CDLL(f"{folder}/libze_loader.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        (self.driver,) = self.listed("zeDriverGet")
        self.cards = self.listed("zeDeviceGet", self.driver)
        self.context, self.other = self.new_context(), self.new_context()

    def call(self, name: str, *arguments: object) -> str:
        return hex(getattr(self.ze, name)(*arguments) & 0xFFFFFFFF)

    def listed(self, name: str, *first: object) -> list[c_void_p]:
        count = c_uint32()
        self.call(name, *first, byref(count), None)
        handles = (c_void_p * count.value)()
        self.call(name, *first, byref(count), handles)
        return [c_void_p(handle) for handle in handles]

    def properties(self, name: str, kind: type, *first: object) -> list[ctypes.Structure]:
        """All properties of a kind, as a call for their number and one for them say."""
        count = c_uint32()
        self.call(name, *first, byref(count), None)
        filled = (kind * count.value)()
        self.call(name, *first, byref(count), filled)
        return list(filled)

    def extended(self, device: c_void_p, stype: int) -> tuple[str, int]:
        """The number of an extension of a device's properties."""
        number, properties = Number(stype=stype), DeviceProperties(stype=0x3)
        properties.next = ctypes.addressof(number)
        return self.call("zeDeviceGetProperties", device, byref(properties)), number.number

    def new_context(self) -> c_void_p:
        context = c_void_p()
        self.call(
            "zeContextCreate",
            self.driver,
            (c_uint64 * 3)(CONTEXT_DESCRIPTION),
            byref(context),
        )
        return context

    def allocate(self, kind: str, size: int, alignment: int = 0) -> tuple[str, c_void_p]:
        pointer = c_void_p()
        on_device = (c_uint64 * 3)(DEVICE_DESCRIPTION)
        on_host = (c_uint64 * 3)(HOST_DESCRIPTION)
        room = (c_size_t(size), c_size_t(alignment))
        name, *arguments = {
            "device": ("zeMemAllocDevice", on_device, *room, self.cards[0]),
            "host": ("zeMemAllocHost", on_host, *room),
            "shared": ("zeMemAllocShared", on_device, on_host, *room, self.cards[0]),
        }[kind]
        return self.call(name, self.context, *arguments, byref(pointer)), pointer

    def free(self, pointer: c_void_p) -> str:
        return self.call("zeMemFree", self.context, pointer)

    def type_of(self, address: int, context: c_void_p | None = None) -> str:
        """The type of memory at an address, and the number of its device, or the error."""
        properties, device = AllocationProperties(stype=0x17), c_void_p()
        error = self.call(
            "zeMemGetAllocProperties",
            context or self.context,
            c_void_p(address),
            byref(properties),
            byref(device),
        )
        numbers = {handle.value: number for number, handle in enumerate(self.cards)}
        where = numbers.get(device.value, "none" if device.value is None else "other")
        return f"type {properties.type}, device {where}" if error == "0x0" else error

    def page_of(self, address: int) -> int:
        properties, device = AllocationProperties(stype=0x17), c_void_p()
        self.call(
            "zeMemGetAllocProperties",
            *(self.context, c_void_p(address), byref(properties), byref(device)),
        )
        return properties.page_size

    def properties_of(self, device: c_void_p) -> tuple[DeviceProperties, MemoryProperties]:
        properties, memory = DeviceProperties(stype=0x3), MemoryProperties(stype=0x7)
        self.call("zeDeviceGetProperties", device, byref(properties))
        self.call("zeDeviceGetMemoryProperties", device, byref(c_uint32(1)), byref(memory))
        return properties, memory

    def range_of(self, address: int) -> tuple[int, int] | str:
        """Where the allocation begins, as seen from the address, and how long it is."""
        begin, size = c_void_p(), c_size_t()
        error = self.call(
            "zeMemGetAddressRange", self.context, c_void_p(address), byref(begin), byref(size)
        )
        return (address - (begin.value or 0), size.value) if error == "0x0" else error


def pointers(driver: Driver, kind: str) -> dict[str, object]:
    """The questions about an allocation of one kind."""
    answers: dict[str, object] = {}
    for size in SIZES:
        error, block = driver.allocate(kind, size)
        at = block.value or 0
        assert error == "0x0", error
        answers[f"{size} bytes: range"] = driver.range_of(at)
        answers[f"{size} bytes: range, from inside"] = driver.range_of(at + size // 2)
        answers[f"{size} bytes: last byte"] = driver.type_of(at + size - 1)
        answers[f"{size} bytes: aligned to 64 KiB"] = kind == "host" or at % 65536 == 0
        driver.free(block)
    _, block = driver.allocate(kind, 4096)
    at = block.value or 0
    answers["first byte"] = driver.type_of(at)
    answers["page"] = driver.page_of(at)
    answers["in another context"] = driver.type_of(at, driver.other)
    answers["freed from inside"] = driver.free(c_void_p(at + 64))
    answers["freed"] = driver.free(block)
    answers["freed again"] = driver.free(block)
    answers["after free"] = driver.type_of(at)
    for size, alignment in ((0, 0), (64, 4096), (64, 1 << 16), (64, 1 << 22), (1 << 50, 0)):
        error, block = driver.allocate(kind, size, alignment)
        answers[f"{size} bytes aligned to {alignment}"] = error
        if error == "0x0":
            # Intel's driver ignores a large alignment of host memory
            aligned = kind == "host" or (block.value or 0) % max(alignment, 1) == 0
            answers[f"{size} bytes aligned to {alignment}: is"] = aligned
            driver.free(block)
    return answers


def of_others(driver: Driver) -> dict[str, object]:
    """The questions about memory that the driver does not know."""
    memory = ctypes.create_string_buffer(64)
    address = ctypes.addressof(memory)
    handle = (ctypes.c_char * 64)()
    return {
        "plain memory": driver.type_of(address),
        "plain memory: range": driver.range_of(address),
        "plain memory: handle": driver.call(
            "zeMemGetIpcHandle", driver.context, c_void_p(address), byref(handle)
        ),
        "plain memory: free": driver.free(c_void_p(address)),
        "NULL": driver.type_of(0),
    }


def of_devices(driver: Driver) -> dict[str, object]:
    """The questions about the cards and their tiles."""
    answers: dict[str, object] = {"cards": len(driver.cards)}
    first = driver.cards[0]
    tiles = driver.listed("zeDeviceGetSubDevices", first)
    answers["tiles"] = len(tiles)
    answers["tiles of a tile"] = len(driver.listed("zeDeviceGetSubDevices", tiles[0]))
    for name, of in (("card", first), ("tile", tiles[1])):
        root, access = c_void_p(), (c_uint32 * 16)(0x5)
        error = driver.call("zeDeviceGetRootDevice", of, byref(root))
        answers[f"{name}: root"] = error if error != "0x0" else root.value in (None, first.value)
        answers[f"{name}: is its own root"] = root.value == of.value
        driver.call("zeDeviceGetMemoryAccessProperties", of, byref(access))
        kinds = ("host", "device", "shared on one", "shared across", "system")
        for kind, capabilities in zip(kinds, access[4:9], strict=True):
            answers[f"{name}: access to {kind} memory"] = capabilities
    for name, pair in {"tiles": tiles[:2], "a card and itself": (first, first)}.items():
        can = ctypes.c_uint8()
        error = driver.call("zeDeviceCanAccessPeer", *pair, byref(can))
        answers[f"access between {name}"] = [error, can.value]
    return answers


def of_properties(driver: Driver) -> dict[str, object]:
    """What a card and its tiles say of themselves, without the numbers of a product."""
    first = driver.cards[0]
    tiles = driver.listed("zeDeviceGetSubDevices", first)
    card, memory_of_card = driver.properties_of(first)
    answers: dict[str, object] = {"context": driver.call("zeContextGetStatus", driver.context)}
    for name, device in (("card", first), ("tile 0", tiles[0]), ("tile 1", tiles[1])):
        properties, memory = driver.properties_of(device)
        answers |= {
            f"{name}: type": properties.type,
            f"{name}: vendor and product": [hex(properties.vendor), hex(properties.id)],
            f"{name}: flags": properties.flags,
            f"{name}: number": properties.tile,
            f"{name}: the largest allocation is all memory": properties.largest == memory.total,
            f"{name}: one of how many shares": memory_of_card.total // memory.total,
            f"{name}: uuid of the product": bytes(properties.uuid[:6]).hex(),
            f"{name}: uuid, xor that of the card": bytes(
                byte ^ other for byte, other in zip(properties.uuid, card.uuid, strict=True)
            ).hex(),
        }
    other, _ = driver.properties_of(driver.cards[1])
    answers["cards: uuids differ"] = bytes(other.uuid) != bytes(card.uuid)
    return answers


def of_extensions(driver: Driver) -> dict[str, object]:
    """The extensions, with their versions."""
    listed = driver.properties("zeDriverGetExtensionProperties", ExtensionProperties, driver.driver)
    return {extension.name.decode(): hex(extension.version) for extension in listed}


def of_queues(driver: Driver) -> dict[str, object]:
    """The groups of queues of the first card, and of a tile of it."""
    name, first = "zeDeviceGetCommandQueueGroupProperties", driver.cards[0]
    devices = {"card": first, "tile": driver.listed("zeDeviceGetSubDevices", first)[0]}
    return {
        question: [
            (group.flags, hex(group.largest_pattern), group.queues)
            for group in driver.properties(name, QueueGroup, device)
        ]
        for question, device in devices.items()
    }


def by_extensions(driver: Driver) -> dict[str, object]:
    """What the extensions add to a device, without the numbers of a product."""
    first = driver.cards[0]
    properties, memory = driver.properties_of(first)
    line = CacheLine(stype=0x20028)
    cache = Cache(stype=0x9, next=ctypes.addressof(line))
    version = c_uint32()
    _, *by_product = properties.others[3:]
    error, usable = driver.extended(first, 0x20041)
    return {
        "version of the interface": [
            driver.call("zeDriverGetApiVersion", driver.driver, byref(version)),
            hex(version.value),
        ],
        "execution units": driver.extended(first, 0x10005) == ("0x0", math.prod(by_product)),
        "usable memory": [error, 0 < usable <= memory.total],
        "LUID": driver.extended(first, 0x1000D)[0],
        "cache line": [
            driver.call("zeDeviceGetCacheProperties", first, byref(c_uint32(1)), byref(cache)),
            line.size,
        ],
        "vector widths": [
            widths.widths[:]
            for widths in driver.properties(
                "zeDeviceGetVectorWidthPropertiesExt", VectorWidths, first
            )
        ],
        **of_system_memory(driver),
    }


def of_system_memory(driver: Driver) -> dict[str, object]:
    """Memory of the process that the driver is told to take for an allocation."""
    pages = mmap.mmap(-1, 8192)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    memory = SystemMemory(stype=0x20037, address=address, size=8192)
    description = (c_uint64 * 3)(HOST_DESCRIPTION, ctypes.addressof(memory))
    pointer = c_void_p()
    room = (c_size_t(8192), c_size_t(1))
    error = driver.call("zeMemAllocHost", driver.context, description, *room, byref(pointer))
    return {
        "system memory": [error, pointer.value == address],
        "system memory: its middle": [
            driver.type_of(address + 5000),
            driver.range_of(address + 5000),
        ],
        "system memory: free": driver.free(c_void_p(address)),
        "system memory: after free": driver.type_of(address),
    }


def answers() -> dict[str, dict[str, object]]:
    driver = Driver()
    by_kind = {kind: pointers(driver, kind) for kind in KINDS}
    return {
        **by_kind,
        "other memory": of_others(driver),
        "devices": of_devices(driver),
        "properties": of_properties(driver),
        "queues": of_queues(driver),
        "extensions": of_extensions(driver),
        "by extensions": by_extensions(driver),
    }


if __name__ == "__main__":
    print(json.dumps(answers()))
