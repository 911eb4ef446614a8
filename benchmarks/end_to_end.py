# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.end_to_end``: tasks of users, with sycl_ext and without it.

Prints a table, and writes it to docs/develop/benchmarks.md; with ``--only WORD`` or ``--smoke`` it
only prints. "Today" is the way that the libraries offer by themselves: copies through NumPy.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, NamedTuple

from benchmarks.build import use_cpu_device
from benchmarks.harness import Contender, Pace, race

os.environ["SCIPY_ARRAY_API"] = "1"  # scikit-learn's array API dispatch
use_cpu_device()

import dpctl  # noqa: E402
import dpnp  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

import sycl_ext as sx  # noqa: E402

Work = Callable[[], Any]


class Pair(NamedTuple):
    """The same work twice; `today` is a text if it is not possible."""

    ours: Work
    today: Work | str


def there_and_back(_: ExitStack) -> Pair:
    """NumPy, 4 MB -> device -> dpnp doubles it -> NumPy."""
    array = np.ones((1000, 1000), "float32")

    def ours() -> Any:
        x = sx.exchange(sx.as_tensor(array), dpnp)
        return sx.exchange(x + x, np)

    def today() -> Any:
        x = dpnp.asarray(array)
        return dpnp.asnumpy(x + x)

    return Pair(ours, today)


def sub_device(_: ExitStack) -> Pair:
    """An array of dpnp on a sub-device, 4 MB -> torch -> dpnp on the sub-device."""
    sub_devices = sx.device().create_sub_devices(1)
    x = dpnp.ones((1000, 1000), dtype="float32", sycl_queue=sub_devices[0].sycl_queue)

    def ours() -> Any:
        tensor = sx.exchange(x, torch)
        return sx.exchange(sx.as_tensor(tensor, device=sub_devices[0]), dpnp.asarray)

    def today() -> Any:
        tensor = torch.from_numpy(dpnp.asnumpy(x))
        return dpnp.asarray(tensor.numpy(), sycl_queue=x.sycl_queue)

    return Pair(ours, today)


def estimator(_: ExitStack) -> Pair:
    """Ridge of scikit-learn on dpnp's data, 2000 x 100, array API dispatch through torch."""
    import sklearn
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(0)
    x, y = (dpnp.asarray(rng.random(shape, "float32")) for shape in ((2000, 100), 2000))

    def fit(x: Any, y: Any) -> Any:
        with sklearn.config_context(array_api_dispatch=True):
            return Ridge(solver="svd").fit(x, y).predict(x)

    def ours() -> Any:
        return sx.exchange(fit(sx.exchange(x, torch), sx.exchange(y, torch)), dpnp)

    def today() -> Any:
        x_host, y_host = (torch.from_numpy(dpnp.asnumpy(array)) for array in (x, y))
        return dpnp.asarray(fit(x_host, y_host).numpy())

    return Pair(ours, today)


def parameters(_: ExitStack) -> Pair:
    """1,000 parameters of 64 float32, torch -> dpnp."""
    model = [torch.ones(64) for _ in range(1000)]
    return Pair(
        lambda: [sx.exchange(parameter, dpnp) for parameter in model],
        lambda: [dpnp.asarray(parameter.numpy()) for parameter in model],
    )


def double(x: Any) -> Any:
    """Work for a Dask worker."""
    return x + x


def dask_task(stack: ExitStack) -> Pair:
    """A Dask task in another process: a dpnp array of 4 MB as argument and as result."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    client = stack.enter_context(Client(stack.enter_context(cluster)))
    x = dpnp.ones((1000, 1000), dtype="float32")
    return Pair(
        lambda: client.submit(double, x, pure=False).result(),
        "not possible: dpnp's arrays cannot be pickled",
    )


def threads(stack: ExitStack) -> Pair:
    """8 threads, each 100 arrays of 4 KB from dpnp to NumPy."""
    pool = stack.enter_context(ThreadPoolExecutor(8))
    queue = dpctl.SyclQueue(property="in_order")  # two threads that wait for another one can crash
    arrays = [dpnp.ones(1024, dtype="float32", sycl_queue=queue) for _ in range(100)]

    def in_all(to_numpy: Callable[[Any], Any]) -> Work:
        return lambda: list(pool.map(lambda _: [to_numpy(x) for x in arrays], range(8)))

    return Pair(in_all(lambda x: sx.exchange(x, np)), in_all(dpnp.asnumpy))


WORK = (there_and_back, sub_device, estimator, parameters, dask_task, threads)


def measure(work: Callable[[ExitStack], Pair], pace: Pace) -> dict[str, Any]:
    """Return a row of the table: seconds, and the quartiles of the ratio."""
    name = str(work.__doc__).removesuffix(".")
    with ExitStack() as stack:
        pair = work(stack)
        contenders = {
            who: Contender("work()", {"work": function})
            for who, function in pair._asdict().items()
            if callable(function)
        }
        result = race(contenders, pace)
        row = {"work": name, "ours": result.time("ours").median, "today": pair.today, "times": None}
        if not isinstance(pair.today, str):
            times = result.ratio("today", "ours")
            row["today"] = result.time("today").median
            row["times"] = [times.low, times.median, times.high]
        return row


def main() -> None:
    """Read the command line and do what it says."""
    from benchmarks.__main__ import save, write_prose
    from benchmarks.report import end_to_end_table

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", default="", metavar="WORD", help="work with this word in the name"
    )
    parser.add_argument("--smoke", action="store_true", help="everything once, no matter how badly")
    options = parser.parse_args()
    pace = Pace(0.0, 0.0, (1, 1)) if options.smoke else Pace(5.0, 0.0, (9, 201))
    rows = [measure(work, pace) for work in WORK if options.only in work.__name__]
    print(end_to_end_table(rows))
    if not (options.smoke or options.only):
        write_prose(save({"end to end": rows}))


if __name__ == "__main__":
    main()
