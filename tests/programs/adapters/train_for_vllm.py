# SPDX-License-Identifier: Apache-2.0
"""A trainer updates the weights of a worker, twice: ``train_for_vllm.py DEVICE``."""

import base64
import json
import multiprocessing
import os
import pickle
import sys

import fake_torch
import fake_vllm
import sycl_ext as sx

import vllm_weights  # isort: skip (after the fake)

vllm_weights.SyclWeightTransferEngine.library = "fake_torch"


class Model:
    """Has two weights, in its own memory."""

    def __init__(self, device):
        self.notes = []
        self.weights = {
            "a": sx.zeros((2, 2), "float32", device=device),
            "b": sx.zeros(3, "int8", device=device),
        }

    def load_weights(self, weights):
        for name, tensor in weights:
            self.weights[name].copy_from(tensor.usm)
            self.notes.append(f"{name} {self.weights[name].tolist()}")


class Client:
    """The four methods of vLLM's client, by messages in JSON; it shows how the weights are sent."""

    def __init__(self, connection):
        self.connection = connection

    def call(self, name, *arguments):
        self.connection.send(json.dumps([name, *arguments]))
        print(f"{name}:", self.connection.recv())

    def init_weight_transfer_engine(self, init_info):
        self.call("init_transfer_engine", init_info)

    def start_weight_update(self):
        self.call("start_weight_update")

    def update_weights(self, update_info):
        packed = pickle.loads(base64.b64decode(update_info["packed"]))
        print("sent by", [weight.how for weight in packed])
        self.call("update_weights", update_info)

    def finish_weight_update(self):
        self.call("finish_weight_update")


class Source:
    """The weights of the trainer; it counts how often all were asked for."""

    def __init__(self, device):
        self.weight = fake_torch.Parameter(
            fake_torch.Tensor(sx.zeros((2, 2), "float32", device=device))
        )
        self.bias = fake_torch.Tensor(sx.zeros(3, "int8", device=device).fill(1))
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        yield from {"a": self.weight, "b": self.bias}.items()


def worker(connection, device):
    """Call the engine as the messages say, and answer what the model has noted."""
    os.environ[vllm_weights.ALLOW] = "1"
    model = Model(device)
    fake_torch.accelerator.synchronize = lambda: model.notes.append("complete")
    engine = vllm_weights.SyclWeightTransferEngine(None, None, device, model)
    while message := connection.recv():
        name, *arguments = json.loads(message)
        getattr(engine, name)(*arguments)
        connection.send(", ".join(model.notes))
        model.notes.clear()
    engine.shutdown()
    print("left:", {name: weight.tolist() for name, weight in model.weights.items()})


def main(device):
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=worker, args=(there, device), daemon=True)
    process.start()
    there.close()  # so that the pipe ends with the process
    client, source = Client(here), Source(device)

    def engine_of(rank):
        return vllm_weights.SyclTrainerEngine.trainer_init(
            fake_vllm.WeightTransferConfig(),
            vllm_weights.SyclTrainerInitInfo(rank=rank),
            client=client,
            source=source,
        )

    engine = engine_of(0)
    for number in (5, 6):
        source.weight.usm.fill(number)
        engine.send_weights()
    engine_of(1).send_weights()
    print("passes:", source.passes)
    only = iter([("b", fake_torch.Tensor(sx.zeros(3, "int8", device=device).fill(9)))])
    vllm_weights.SyclWeightTransferEngine.trainer_send_weights(only, {"client": client})
    source.weight.usm.fill(0)  # which the model has its own copy of
    here.send(None)
    process.join()
    untrusting = vllm_weights.SyclWeightTransferEngine(None, None, device, None)
    try:
        untrusting.update_weights({"names": [], "packed": ""})
    except ValueError as error:
        print(error)


if __name__ == "__main__":
    main(sys.argv[1])
