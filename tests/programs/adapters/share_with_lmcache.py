# SPDX-License-Identifier: Apache-2.0
"""An engine shares its key-value cache with a server: ``share_with_lmcache.py DEVICE``."""

import multiprocessing
import sys

import extended_lmcache
import fake_torch
import sycl_ext as sx

DeviceIPCWrapper = extended_lmcache.DeviceIPCWrapper
SyclIPCWrapper = extended_lmcache.adapter.SyclIPCWrapper
extended_lmcache.adapter.torch = fake_torch  # torch has no XPU here


class Closed(SyclIPCWrapper):
    """Another thread closes it as soon as it is open."""

    _opened = property(lambda self: None, lambda self, value: None)


def server(connection):
    """Open the cache, read a block, and fill another one."""
    wrapper = DeviceIPCWrapper.Deserialize(connection.recv())
    print("arrived:", type(wrapper).__name__, wrapper.dtype, wrapper.shape, wrapper.stride)
    named = sx.device(f"uuid:{wrapper.device_uuid}")
    print("device by its UUID:", named is sx.device(sys.argv[1]))
    cache = wrapper.to_tensor()
    print("arrived:", cache.usm[0].tolist(), "same:", wrapper.to_tensor().usm.ptr == cache.usm.ptr)
    cache.usm[1, 0].fill(7)
    connection.send(DeviceIPCWrapper.Serialize(wrapper))
    wrapper.close()
    print("after close:", cache.usm[1].tolist())


def main(device):
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=server, args=(there,), daemon=True)
    process.start()
    there.close()  # so that the pipe ends with the process
    blocks = sx.ipc.empty((3, 4, 2), "float16", device=device).fill(5)
    cache = fake_torch.Tensor(blocks.transpose(0, 2, 1))  # NHD over HND, for example
    wrapper = SyclIPCWrapper.wrap(cache)
    message = DeviceIPCWrapper.Serialize(wrapper)
    print("message below 1000 bytes:", len(message) < 1000)
    here.send(message)
    answer = here.recv()
    process.join()
    print("answer is the message:", answer == message)
    answer = DeviceIPCWrapper.Deserialize(answer)
    print("here:", blocks.tolist())
    closed = Closed.wrap(cache).to_tensor()
    print("closed by another thread:", closed.usm.tolist() == cache.usm.tolist())
    other = SyclIPCWrapper.wrap(fake_torch.Tensor(sx.ipc.empty(3, device=device)))
    print("equal:", wrapper == answer, wrapper == other)
    try:
        DeviceIPCWrapper.Deserialize(message.replace(b"nbytes\x30", b"nbytes\x2f"))
    except ValueError as error:
        print("refused:", error)
    try:
        SyclIPCWrapper.wrap(fake_torch.Tensor(sx.zeros(3, usm_type="host", device=device)))
    except BufferError as error:
        print("refused:", str(error).partition("; ")[0])


if __name__ == "__main__":
    main(sys.argv[1])
