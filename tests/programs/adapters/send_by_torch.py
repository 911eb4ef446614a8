# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch go to another process and are written there: ``send_by_torch.py DEVICE``."""

import multiprocessing
import sys

import torch_reducer

import fake_torch
import sycl_ext as sx


def other(connection):
    """Show what arrives, and write to it."""
    tensor, weight = connection.recv()
    print("arrived:", tensor.usm.tolist(), type(tensor).__name__, tensor.requires_grad)
    print("arrived:", weight.usm.tolist(), type(weight).__name__, weight.requires_grad)
    tensor.usm.fill(7)
    connection.send("written")


def main(device):
    torch_reducer.register(fake_torch, library="fake_torch")
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=other, args=(there,), daemon=True)
    process.start()
    there.close()  # so that the pipe ends with the process
    usm = sx.zeros((2, 3), "int32", device=device).fill(5)
    here.send((fake_torch.Tensor(usm[:, 1:]), fake_torch.Parameter(fake_torch.Tensor(usm[0]))))
    here.recv()
    process.join()
    print("here:", usm.tolist())
    try:
        here.send(fake_torch.Tensor(usm).untyped_storage())
    except RuntimeError as error:
        print(error)


if __name__ == "__main__":
    main(sys.argv[1])
