# SPDX-License-Identifier: Apache-2.0
"""The decisions that `exchange` keeps: what they keep alive, and their use by threads and children.

That a kept decision is the right one: ``test_kept_decisions.py``.
"""

import gc
import os
import sys
import threading
import types
import weakref

import numpy as np
import pytest
import torch

import environments
import sycl_ext as sx

NAME = "library_of_arrays"


def usm():
    return sx.zeros((2, 3), usm_type="shared")


def named(result):
    """A ``from_dlpack`` that tells who was called."""
    return lambda x: (result, np.from_dlpack(x))


# ---- what is kept alive --------------------------------------------------------------------------


def test_refused_array_goes_when_its_exception_does(library):
    """No kept answer, and no cycle, keeps the array alive."""
    library.from_dlpack = lambda x: int("no number")
    for _ in range(2):
        tensor = usm()
        gone = weakref.ref(tensor)
        gc.disable()
        try:
            with pytest.raises(sx.ExchangeError):
                sx.exchange(tensor, library)
            del tensor
            assert gone() is None
        finally:
            gc.enable()


def test_closure_is_not_kept():
    def function(x):
        return x.to_numpy()

    sx.exchange(usm(), function)
    gone = weakref.ref(function)
    del function
    assert gone() is None


def test_module_that_was_unloaded_is_forgotten():
    module = sys.modules[NAME] = types.ModuleType(NAME)
    module.from_dlpack = lambda x: x.ptr
    try:
        sx.exchange(usm(), module)
    finally:
        del sys.modules[NAME]
    gone = weakref.ref(module)
    del module
    sx.exchange(usm(), np.atleast_2d)  # the next one for which an answer is kept
    assert gone() is None


def test_unloaded_modules_are_forgotten_however_many_they_were(monkeypatch):
    """2000, because decisions for 64 consumers are kept, and each place has to be used again."""
    names = [f"{NAME}_{number}" for number in range(2000)]
    gone = []
    for name in names:
        module = types.ModuleType(name)
        module.from_dlpack = lambda x: x.ptr
        monkeypatch.setitem(sys.modules, name, module)
        sx.exchange(usm(), module)
        gone.append(weakref.ref(module))
    monkeypatch.undo()
    del module
    sx.exchange(usm(), np.atleast_3d)  # the next one for which an answer is kept
    assert sum(ref() is not None for ref in gone) == 0


# ---- threads and forks ---------------------------------------------------------------------------


def test_threads_share_answers_while_consumers_change(monkeypatch, library):
    """Each gets the array that it asked for, whatever the others ask for."""
    functions = [named(number) for number in range(4)]
    library.from_dlpack, failures = functions[0], []
    stop = threading.Event()

    def change():
        number = 0
        while not stop.is_set():
            number = (number + 1) % len(functions)
            library.from_dlpack = functions[number]

    def exchange(first):
        try:
            for number in range(first, first + 400):
                tensor = sx.zeros((number % 7 + 2, 3), usm_type="shared")
                x = (tensor, tensor[::-1], tensor[:, ::2], tensor.T)[number % 4]
                result, array = sx.exchange(x, library)
                assert result in range(len(functions))
                assert array.shape == x.shape
                is_view = sx.exchange(x, np).ctypes.data == x.ptr
                assert is_view == (number % 4 != 1)  # a negative stride is copied
                assert sx.exchange(x, torch).shape == x.shape
        except Exception as error:
            failures.append(error)

    changing = threading.Thread(target=change)
    threads = [threading.Thread(target=exchange, args=(first,)) for first in range(6)]
    for thread in (changing, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    changing.join()
    assert failures == []


def test_answers_are_dropped_and_made_while_they_are_used(library):
    """A function that looks at the consumer may exchange, and drop the answer that is in use."""

    class Module(types.ModuleType):
        depth = 0

        def __getattribute__(self, name):
            if name == "from_dlpack" and Module.depth < 3:
                Module.depth += 1
                for _ in range(2):
                    assert sx.exchange(usm(), self)[0] == "inner"
                Module.depth -= 1
            return super().__getattribute__(name)

    module = Module(NAME)
    vars(module)["from_dlpack"] = named("inner")
    sys.modules[NAME] = module  # the fixture takes it away
    assert sx.exchange(usm(), module)[0] == "inner"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_forked_child_uses_and_changes_its_own_answers():
    shown = environments.python(
        """
import os, warnings
import numpy as np
import sycl_ext as sx
warnings.simplefilter("ignore")
a, t = np.arange(3), sx.zeros(3, usm_type="shared")
for x in (a, t):
    assert type(sx.exchange(x, np)) is np.ndarray
child = os.fork()
if child == 0:
    try:
        assert sx.exchange(a, np).tolist() == [0, 1, 2]
        assert sx.exchange(a[::-1], np).tolist() == [2, 1, 0]
        np.from_dlpack = lambda x: "patched"
        assert sx.exchange(a, np) == "patched"
        os._exit(0)
    finally:
        os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert sx.exchange(a, np).tolist() == [0, 1, 2]
print("done")
"""
    )
    assert shown.strip() == "done"
