# SPDX-License-Identifier: Apache-2.0
"""Facts of machines for the tests of the doctor: one where all is well, many that are broken."""

import copy
from dataclasses import replace

import environments
from stand_in_build import NO_ICD_FILES
from sycl_ext._doctor.machine import (
    PROBED,
    DeviceFacts,
    Driver,
    Gpu,
    Library,
    Machine,
    Node,
    OtherGpu,
    Step,
    User,
)

ROOT = environments.ROOT
EMPTY = str(NO_ICD_FILES)


def card_at(root, address, vendor, kind):
    """The files of the kernel for a card."""
    folder = root / "sys/bus/pci/devices" / address
    folder.mkdir(parents=True)
    (folder / "vendor").write_text(f"{vendor}\n")
    (folder / "class").write_text(f"{kind}\n")


USM = ("device", "shared", "host")
CPU = DeviceFacts(0, "opencl:cpu:0", "Xeon", "opencl", "cpu", "2026.1", (*USM, "system"), True)
GPU = DeviceFacts(1, "level_zero:gpu:0", "Max 1550", "level_zero", "gpu", "1.6", USM, True)
NODE = Node("/dev/dri/renderD128", "root", "render", "crw-rw----", True)
ICD = Driver("/env/lib/libintelocl.so", "sycl_ext")
TESTS = ("copy", "capsule", "dpnp", "torch")
RUNTIME = Library("/env/lib/libsycl.so.9", "import sycl_ext")
STEPS = (
    *(Step(f"import {name}", "ok") for name in PROBED),
    Step("list devices", "ok"),
    *(Step(f"device {entry}: {test}", "ok") for entry in (0, 1) for test in TESTS),
)
#: The facts of a machine where all is well.
WELL = {
    **dict.fromkeys(("devices_without_selector", "runtime_messages"), ()),
    "runtime_folder": "/env/lib",
    "other_runtimes": {},
    "ptrace_scope": None,
    "pidfd_getfd": "",
    "node_links": True,
    "python": "3.11.7",
    "executable": "/env/bin/python",
    "prefix": "/env",
    "platform": "Linux",
    "in_container": False,
    "packages": {"sycl_ext": "0.1.0", "intel-sycl-rt": "2026.2.0", "dpctl": "0.22.1"},
    "requirements": ("dpctl>=0.22", "intel-sycl-rt<2027,>=2026.0", "numpy>=1.26"),
    "origin": "/src/sycl_ext",
    "environment": {},
    "overrides": {},
    "embedded_driver": "/env/lib/libintelocl.so",
    "drivers": (ICD,),
    "gpus": (Gpu("0000:03:00.0", "xe"),),
    "other_gpus": (),
    "nodes": (NODE,),
    "user": User("ada", ("ada", "render"), ("render",)),
    "steps": STEPS,
    "libraries": (RUNTIME,),
    "devices": (CPU, GPU),
}


#: What it says of itself is not asked of the installed packages each time.
THIS_MACHINE = Machine()


def well(**changes):
    """A machine where all is well but for some facts."""
    machine = copy.copy(THIS_MACHINE)
    vars(machine).update({**WELL, **changes})
    return machine


def no_device(**changes):
    return well(**{"devices": (), "gpus": (), "nodes": (), "steps": STEPS[:5], **changes})


def steps_with(name, outcome, detail=""):
    """The steps of WELL, one of which went another way."""
    return tuple(Step(name, outcome, detail) if name == step.name else step for step in STEPS)


def fails(what, detail, outcome="failed", **changes):
    return well(steps=steps_with(what, outcome, detail), **changes)


NVIDIA = OtherGpu("NVIDIA", "cuda", "/dev/nvidia0")
CLOSED = replace(NODE, accessible=False)
ADA = User("ada", ("ada",))
NO_CORE = "ModuleNotFoundError: No module named 'sycl_ext._core'"
NO_LIBSYCL = "ImportError: libsycl.so.9: cannot open shared object file: No such file or directory"
TWO = (RUNTIME, Library("/opt/intel/lib/libsycl.so.8", "import torch"))
ONEAPI = {"LD_LIBRARY_PATH": ("/opt/intel/lib/libsycl.so.8",)}
WRONG_SELECTOR = "SyclError: ONEAPI_DEVICE_SELECTOR parsing error. Backend is required"
INCOMPLETE_SELECTOR = "SyclError: Incomplete selector! ONEAPI_DEVICE_SELECTOR is 'level_zero'"
#: Drivers that are not there.
NAMED_NOWHERE = Driver("/no.so", "OCL_ICD_FILENAMES", "OSError: no file")
FILE_NOWHERE = Driver("/no.so", "/etc/a.icd", "OSError: no file")

#: Facts, the check that fires, and words of its cause and of its cure.
BROKEN = {
    "a source tree": (fails("import sycl_ext", NO_CORE, origin="'/my code/sycl_ext'", devices=(),
        packages={}, requirements=()), "runtime", "a source tree in which it was not built",
        "python -m pip install '/my code/sycl_ext'"),
    "NumPy is not installed": (fails("import sycl_ext",
        "ModuleNotFoundError: No module named 'numpy'"), "runtime", "numpy is missing",
        "python -m pip install 'numpy>=1.26'"),
    "an old NumPy":
        (fails("import sycl_ext",
        "ImportError: sycl_ext requires NumPy >= 1.26, but 1.25.2 is installed; run ..."),
        "runtime", "numpy is missing or too old", "python -m pip install 'numpy>=1.26'"),
    "a CPU driver that only root may read": (no_device(
        drivers=(replace(ICD, error="OSError: libintelocl.so: Permission denied"),)), "driver",
        "Permission denied", "chmod a+r /env/lib/libintelocl.so"),
    "a runtime that only root may read": (fails("import sycl_ext",
        "ImportError: libsycl.so.9: cannot open: Permission denied"), "runtime",
        "no permission to read one of its files", "chmod -R a+rX /env/lib"),
    "a space": (fails("list devices", "SyclError: opencl backend failed with error: 69", devices=(),
        drivers=(replace(ICD, path="/my env/lib/libintelocl.so"),)), "space",
        "truncates it at the space",
        'mkdir -p "$HOME"/.intel-opencl && ln -s \'/my env/lib\'/* "$HOME"/.intel-opencl && '
        "cp --remove-destination '/my env/lib'/libintelocl.so \"$HOME\"/.intel-opencl && "
        'export OCL_ICD_FILENAMES="$HOME"/.intel-opencl/libintelocl.so'),
    "an NVIDIA driver without an adapter": (well(other_gpus=(NVIDIA,)), "other-gpu",
        "needs an adapter for it (libur_adapter_cuda.so)", "export UR_ADAPTERS_SEARCH_PATH=FOLDER"),
    "an NVIDIA driver and no device": (no_device(other_gpus=(NVIDIA,)), "other-gpu",
        "needs an adapter for it", "export UR_ADAPTERS_SEARCH_PATH=FOLDER"),
    "no core, and nobody knows where it came from": (fails("import sycl_ext", NO_CORE, origin="."),
        "runtime", "the extension module was removed",
        "python -m pip install --force-reinstall --no-deps ."),
    "a kernel that keeps processes apart": (well(ptrace_scope=1), "ptrace-scope",
        "ptrace_scope is 1", "sudo sysctl kernel.yama.ptrace_scope=0"),
    "a filter that forbids a call": (well(pidfd_getfd="EPERM"), "pidfd-getfd",
        "fails even for a process's own file descriptor (EPERM)",
        "docker run --cap-add SYS_PTRACE IMAGE"),
    "a call that the kernel lacks": (well(pidfd_getfd="ENOSYS"), "pidfd-getfd",
        "(ENOSYS)", "docker run --security-opt seccomp=unconfined IMAGE"),
    "nodes without their links": (well(node_links=False), "no-by-path",
        "passes the nodes without these links",
        "docker run --device /dev/dri -v /dev/dri/by-path:/dev/dri/by-path IMAGE"),
    "a rank that sees one GPU of two": (well(environment={"MPI_LOCALRANKID": "0",
        "ZE_AFFINITY_MASK": "0"}, devices_without_selector=(CPU, GPU, replace(GPU, id=2))),
        "hidden-peers", "the others are hidden by ZE_AFFINITY_MASK",
        "unset ZE_AFFINITY_MASK"),
    "a handle of a card without peer access": (well(steps=(*STEPS, Step("device 1: second process",
        "failed", "RuntimeError: the other process: UR_RESULT_ERROR_INVALID_ARGUMENT"))),
        "self-test", "the two cards have no peer access", "xpu-smi topology -m"),
    "no libsycl": (fails("import sycl_ext", NO_LIBSYCL, devices=(), libraries=()), "runtime",
        "is missing, damaged or of the wrong version",
        "python -m pip install --force-reinstall 'intel-sycl-rt<2027,>=2026.0'"),
    "another libsycl": (fails("import sycl_ext", "ImportError: libsycl.so.9: undefined symbol: x",
        overrides={"LD_LIBRARY_PATH": ("/opt/intel/lib/libsycl.so.9",)}), "runtime",
        "LD_LIBRARY_PATH", "unset LD_LIBRARY_PATH"),
    "core of another version": (fails("import sycl_ext",
        "TypeError: set_hooks(): incompatible function arguments"), "runtime", "different versions",
        "python -m pip install --force-reinstall --no-deps /src/sycl_ext"),
    "a runtime that kills": (fails("import sycl_ext", "SIGSEGV", "crashed", devices=()), "runtime",
        "SIGSEGV", "python -m pip install --force-reinstall 'intel-sycl-rt<2027,>=2026.0'"),
    "a runtime of LD_LIBRARY_PATH that kills": (fails("import sycl_ext", "SIGSEGV", "crashed",
        devices=(), overrides=ONEAPI), "runtime",
        "because of LD_LIBRARY_PATH, another runtime is loaded",
        "unset LD_LIBRARY_PATH"),
    "dpnp that kills": (fails("import dpnp", "SIGSEGV", "crashed"), "package", "SIGSEGV",
        "python -m pip install --upgrade dpnp dpctl"),
    "oneMKL of another version": (fails("import dpnp",
        "ImportError: /env/lib/libmkl_sycl_dft.so.6: undefined symbol: x"), "package",
        "oneMKL and the SYCL runtime have different versions",
        'python -m pip install "mkl==2026.2.*" dpnp'),
    "jax will bring a libsycl": (well(other_runtimes={"jax-oneapi-plugin 0.11.2":
        "libsycl-0a1b2c3d.so.8"}), "another-runtime", "do not share queues or contexts",
        "python -m pip install --upgrade jax-oneapi-plugin"),
    "torch brings a libsycl": (well(libraries=TWO), "two-libsycl", "import torch",
        "python -m pip install --upgrade torch"),
    "oneAPI in LD_LIBRARY_PATH": (well(libraries=TWO, overrides=ONEAPI), "two-libsycl",
        "because of LD_LIBRARY_PATH, one of them", "unset LD_LIBRARY_PATH"),
    "a libsycl from elsewhere": (well(libraries=(Library("/opt/intel/lib/libsycl.so.9",
        "import sycl_ext"),), overrides={"LD_PRELOAD": ("/opt/intel/lib/libsycl.so.9",)}),
        "other-runtime", "LD_PRELOAD", "unset LD_PRELOAD"),
    "a module of another environment": (well(libraries=(Library("/old/lib/libsycl.so.9",
        "import sycl_ext"),)), "other-runtime", "another environment",
        "python -m pip install --force-reinstall --no-deps /src/sycl_ext"),
    "a module of oneAPI 2025": (well(libraries=(replace(TWO[1], loaded_by="import sycl_ext"),),
        runtime_folder="", devices=(CPU, GPU)), "no-ipc", "that of oneAPI 2025",
        "python -m pip install --force-reinstall --no-deps /src/sycl_ext"),
    "a driver that brings a libsycl": (well(libraries=(RUNTIME,
        replace(TWO[1], loaded_by="list devices"))), "two-libsycl",
        "list devices loads the second one",
        "python -m pip install --force-reinstall 'intel-sycl-rt<2027,>=2026.0'"),
    "a selector without Level Zero": (no_device(environment={"ONEAPI_DEVICE_SELECTOR": "opencl:*"},
        devices_without_selector=(CPU,)), "hidden-devices", "no device matches that",
        "unset ONEAPI_DEVICE_SELECTOR"),
    "a selector and a mask": (no_device(environment={"ONEAPI_DEVICE_SELECTOR": "*:gpu",
        "ZE_AFFINITY_MASK": "7"}, devices_without_selector=(CPU, GPU)), "hidden-devices",
        "ZE_AFFINITY_MASK=7", "unset ONEAPI_DEVICE_SELECTOR ZE_AFFINITY_MASK"),
    "a selector that is none": (no_device(steps=steps_with("list devices", "failed",
        "SyclError: parsing error")[:5], environment={"ONEAPI_DEVICE_SELECTOR": ":"},
        devices_without_selector=(CPU,)), "hidden-devices", "parsing error",
        "unset ONEAPI_DEVICE_SELECTOR"),
    "a selector that is none, and no device besides":
        (no_device(steps=(*steps_with("list devices", "failed", WRONG_SELECTOR)[:2],
        Step("import dpnp", "crashed", "SIGABRT"), Step("list devices", "failed", WRONG_SELECTOR)),
        environment={"ONEAPI_DEVICE_SELECTOR": "bogus:garbage"}), "list-devices", "parsing error",
        "unset ONEAPI_DEVICE_SELECTOR"),
    "an incomplete selector, and no device besides":
        (no_device(steps=steps_with("list devices", "failed", INCOMPLETE_SELECTOR)[:5],
        environment={"ONEAPI_DEVICE_SELECTOR": "level_zero"}), "list-devices",
        "Incomplete selector",
        "unset ONEAPI_DEVICE_SELECTOR"),
    "a list that fails": (fails("list devices", "SyclError: no platform", devices=()),
        "list-devices", "no platform",
        "python -m pip install --force-reinstall 'intel-sycl-rt<2027,>=2026.0'"),
    "a variable that points nowhere": (no_device(drivers=(NAMED_NOWHERE,)), "driver",
        "by OCL_ICD_FILENAMES, but loading it fails: OSError: no file", "unset OCL_ICD_FILENAMES"),
    "the same without a CPU device": (no_device(drivers=(NAMED_NOWHERE,), embedded_driver=""),
        "driver", "no file",
        'unset OCL_ICD_FILENAMES && python -m pip install "intel-opencl-rt>=2026.0,<2027"'),
    "a file that points nowhere": (no_device(drivers=(FILE_NOWHERE,)), "driver",
        "named by /etc/a.icd", "export OCL_ICD_FILENAMES=/env/lib/libintelocl.so"),
    "the same, and no CPU device": (no_device(drivers=(FILE_NOWHERE,), embedded_driver=""),
        "driver", "named by /etc/a.icd", 'python -m pip install "intel-opencl-rt>=2026.0,<2027"'),
    "the same, and a device": (well(drivers=(ICD, FILE_NOWHERE)), "driver", "named by /etc/a.icd",
        "sudo rm /etc/a.icd"),
    "an embedded driver without its libraries": (no_device(
        drivers=(replace(ICD, error="OSError: libtbb.so.12: no file"),)), "driver", "libtbb",
        "python -m pip install --force-reinstall intel-opencl-rt"),
    "a library in front of the driver's": (no_device(
        environment={"LD_LIBRARY_PATH": "/opt/lib:/old"}, drivers=(replace(ICD,
        error="OSError: undefined symbol", displacing=("/old/libtbb.so.12",)),)), "driver",
        "loads /old/libtbb.so.12 instead of the library next to the driver, because of "
        "LD_LIBRARY_PATH", "unset LD_LIBRARY_PATH"),
    "no driver": (no_device(drivers=(), embedded_driver=""), "no-driver",
        "no OpenCL driver (ICD) is installed",
        'python -m pip install "intel-opencl-rt>=2026.0,<2027"'),
    "a driver that nobody may name": (no_device(drivers=(), environment={"SYCL_EXT_NO_ICD": "1"}),
        "no-driver", "because the environment sets SYCL_EXT_NO_ICD", "unset SYCL_EXT_NO_ICD"),
    "not in the group": (well(nodes=(CLOSED,), user=ADA, devices=(CPU,)), "permission",
        "ada is not in the group render", "sudo usermod -aG render ada"),
    "in the group since the login": (well(nodes=(CLOSED,),
        user=replace(ADA, groups_at_login=("render",))), "permission", "after this session began",
        "newgrp render"),
    "in the group, and kept out": (well(nodes=(CLOSED,)), "permission",
        "something else, such as an ACL, denies it", "getfacl /dev/dri/renderD128"),
    "a group of the host": (well(nodes=(replace(CLOSED, group="109"),), user=ADA), "permission",
        "group 109", "docker run --device /dev/dri --group-add 109 IMAGE"),
    "a mode that lets nobody in": (well(nodes=(replace(CLOSED, mode="crw-------"),)), "permission",
        "lets only root open it",
        "sudo chgrp render /dev/dri/renderD128 && sudo chmod g+rw /dev/dri/renderD128"),
    "a node that is missing": (well(gpus=(Gpu("0000:03:00.0"),), nodes=(), devices=(CPU,)),
        "no-node", "no kernel driver is bound to it", "sudo modprobe xe"),
    "a container without the node": (well(nodes=(), devices=(CPU,), in_container=True), "no-node",
        "container", "docker run --device /dev/dri IMAGE"),
    "a GPU without a driver": (well(devices=(CPU,), drivers=(ICD,
        Driver("libze_loader.so.1", "Level Zero", "OSError: no libze"))), "no-gpu-driver",
        "no libze", "sudo apt-get install libze1 libze-intel-gpu1 intel-opencl-icd"),
    "a GPU that loses bytes": (fails("device 1: copy",
        "AssertionError: shared USM does not have the bytes copied to it"), "self-test",
        "does not have the bytes",
        "sudo apt-get install --only-upgrade libze-intel-gpu1 intel-opencl-icd"),
    "a CPU driver that kills": (fails("device 0: copy", "SIGSEGV", "crashed"), "self-test",
        "SIGSEGV", "python -m pip install --upgrade intel-opencl-rt"),
    "dpnp that refuses": (fails("device 1: dpnp", "ValueError: no"), "self-test", "ValueError: no",
        "python -m pip install --upgrade dpnp dpctl"),
    "an end that kills": (well(steps=(*STEPS, Step("exit", "crashed", "SIGSEGV"))), "self-test",
        "SIGSEGV", "python -m pip install --upgrade intel-opencl-rt"),
    "no fp64": (well(devices=(CPU, replace(GPU, fp64=False))), "no-fp64",
        "kernels that compute with float64 fail",
        "export OverrideDefaultFP64Settings=1 IGC_EnableDPEmulation=1"),
    "free-threaded Python": (well(python="3.13.5, free-threaded"), "free-threading",
        "PYTHON_GIL=0 is not supported", "unset PYTHON_GIL"),
    "no USM": (well(devices=(CPU, replace(GPU, usm_types=()))), "no-usm",
        "its driver does not support it", "python -m sycl_ext devices"),
    "no device, and a driver that can be loaded":
        (no_device(runtime_messages=("UR adapter initialization failed",)), "no-device",
        "UR adapter initialization failed",
        "python -m pip install --force-reinstall 'intel-sycl-rt<2027,>=2026.0'"),
}  # fmt: skip
