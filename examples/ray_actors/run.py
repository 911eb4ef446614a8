# SPDX-License-Identifier: Apache-2.0
"""Send 1 GiB between Ray actors, in shared memory or as dpnp arrays: ``python run.py``.

The actors are processes of one machine. Tensors of `sycl_ext.ipc.empty` are not copied on their
way. dpnp arrays are copied twice if their memory cannot be shared, as on the CPU device: into
shared memory, and from there into USM of the receiver. Needs ``sycl_ext[cpu,ray]`` and dpnp.
"""

from typing import Any

import sycl_ext_ray  # isort: skip (before dpctl, so that the SYCL runtime finds the CPU device)

import dpnp
import ray

import sycl_ext as sx

PARTS, PART = 8, 32 * 1024 * 1024  # of 4 bytes: 1 GiB in all

sycl_ext_ray.setup()  # before the classes that name the transports


@ray.remote(num_cpus=0, enable_tensor_transport=True)  # the class, and not .options()
class Source:
    """Has the data."""

    @ray.method(tensor_transport="SYCL")
    def tensor(self, i: int) -> Any:
        """Return a tensor in memory that other processes can open."""
        return sx.ipc.empty(PART, "float32").copy_from(dpnp.full(PART, i, dtype="float32"))

    @ray.method(tensor_transport="DPNP")
    def array(self, i: int) -> Any:
        """Return a dpnp array."""
        return dpnp.full(PART, i, dtype="float32")


@ray.remote(num_cpus=0, enable_tensor_transport=True)
class Sink:
    """Computes on it."""

    def total(self, x: Any) -> tuple[str, float]:
        """Return the library of an array, and its sum."""
        library = type(x).__module__.partition(".")[0]
        array = sx.exchange(x, dpnp)  # of a tensor: a view on a GPU, a copy on the CPU device
        return library, float(dpnp.sum(array, dtype="float64"))


def main() -> None:
    """Send each part, and print what arrived."""
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"worker_process_setup_hook": "sycl_ext_ray.setup"},
    )
    source, sink = Source.remote(), Sink.remote()
    for method in (source.tensor, source.array):
        answers = [ray.get(sink.total.remote(method.remote(i))) for i in range(PARTS)]
        (library,) = {name for name, _ in answers}
        right = [total for _, total in answers] == [float(i * PART) for i in range(PARTS)]
        print(f"{PARTS * PART >> 28} GiB as {library}: {'right' if right else answers}")
    ray.shutdown()


if __name__ == "__main__":
    main()
