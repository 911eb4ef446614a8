# SPDX-License-Identifier: Apache-2.0
"""A trainer updates the weights of a worker, twice: ``train.py DEVICE``.

On the CPU the model of the trainer is torch's, and the example of the page sends it; on a GPU of
the stand-in, which torch cannot see, its weights are tensors, and only the device is not torch's.
"""

import base64
import doctest
import json
import multiprocessing
import os
import pickle
import sys
from functools import cached_property
from pathlib import Path

import real_vllm  # isort: skip (before vllm)

import torch
from vllm.config.weight_transfer import WeightTransferConfig
from vllm.distributed.weight_transfer import base, factory

import sycl_ext as sx
import sycl_ext_vllm

PAGE = Path(__file__).parents[1] / "README.md"


class Weight:
    """A tensor of XPU, as far as the trainer looks at it."""

    def __init__(self, usm):
        self.usm = usm

    def detach(self):
        return self

    def __dlpack_device__(self):
        return self.usm.__dlpack_device__()

    def __dlpack__(self, **how):
        return self.usm.__dlpack__(**how)


#: On a GPU of the stand-in, this module takes the place of torch.
accelerator = torch.accelerator


def from_dlpack(x):
    """Make what the model of the worker loads; this module is its library."""
    return sx.from_dlpack(x)


class Source(base.WeightSource):
    def __init__(self, device):
        self.weights = {
            "weight": Weight(sx.zeros((2, 2), "float32", device=device)),
            "bias": Weight(sx.zeros(2, "float32", device=device).fill(1)),
        }

    @cached_property
    def metadata(self):
        shapes = {name: weight.usm.shape for name, weight in self.weights.items()}
        return [base.ParamMeta(name, torch.float32, shape) for name, shape in shapes.items()]

    def iter_full(self):
        yield from self.weights.items()


class Sharded(Source):
    iter_full = base.WeightSource.iter_full


class Client:
    """The four methods of vLLM's client, by messages in JSON; it shows how the weights are sent."""

    def __init__(self, connection):
        self.connection = connection

    def call(self, name, *arguments):
        self.connection.send(json.dumps([name, *arguments]))
        print(f"{name}:", self.connection.recv())

    def init_weight_transfer_engine(self, init_info):
        self.call("init", init_info)

    def start_weight_update(self):
        self.call("start_weight_update")

    def update_weights(self, update_info):
        packed = pickle.loads(base64.b64decode(update_info["packed"]))
        print("sent by", [weight.how for weight in packed])
        self.call("update_weights", update_info)

    def finish_weight_update(self, weight_version=None):
        assert weight_version is None
        self.call("finish_weight_update")


class Model:
    """The model of a worker: it copies what it loads."""

    def __init__(self):
        self.weights = {}

    def load_weights(self, weights):
        for name, tensor in weights:
            self.weights[name] = sx.as_tensor(tensor).to_numpy(copy=True)
            real_vllm.notes.append(f"{name} {self.weights[name].tolist()}")


def worker(connection, device):
    """Call the engine as the messages say, and answer what it has done."""
    os.environ["VLLM_ALLOW_INSECURE_SERIALIZATION"] = "1"
    sycl_ext_vllm.register()
    sycl_ext_vllm.register()  # vLLM may load a plug-in again
    configs = real_vllm.SimpleNamespace(parallel_config=None, model_config=None)
    engine = factory.WeightTransferEngineFactory.create_engine(
        WeightTransferConfig(backend="sycl"), configs, device, Model()
    )
    if device != "cpu":
        type(engine).library = __name__
    while message := connection.recv():
        name, *arguments = json.loads(message)
        if name == "init":
            engine.init_transfer_engine(engine.parse_init_info(*arguments))
        else:
            getattr(engine, name)(*arguments)
        connection.send(", ".join(real_vllm.notes))
        real_vllm.notes.clear()
    engine.shutdown()


def run_page(names):
    """Run the lines of the page that send the weights once."""
    lines = [example.source for example in doctest.DocTestParser().get_examples(PAGE.read_text())]
    exec("".join(lines), names)
    return names["engine"]


def main(device):
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=worker, args=(there, device), daemon=True)
    process.start()
    there.close()  # so that the pipe ends with the process
    client = Client(here)
    if device == "cpu":
        model = torch.nn.Linear(2, 2)
        torch.nn.init.constant_(model.weight, 0)
        torch.nn.init.constant_(model.bias, 1)
        engine = run_page({"client": client, "model": model})
        torch.nn.init.constant_(model.weight, 5)
    else:
        from sycl_ext_vllm.engines import SyclTrainerInitInfo

        sycl_ext_vllm.register()
        source = Source(device)
        engine = factory.WeightTransferTrainerFactory.trainer_init(
            SyclTrainerInitInfo(rank=0), client=client, source=source
        )
        engine.send_weights()
        source.weights["weight"].usm.fill(5)
    engine.send_weights()
    other = type(engine).trainer_init(
        type(engine).init_info_cls(rank=1), client=client, source=engine.source
    )
    other.send_weights()  # sends nothing
    here.send(None)
    process.join()
    for source in (None, Sharded(device)):
        try:
            type(engine).trainer_init(
                type(engine).init_info_cls(rank=0), client=client, source=source
            )
        except (TypeError, ValueError) as error:
            print(error)


if __name__ == "__main__":
    main(sys.argv[1])
