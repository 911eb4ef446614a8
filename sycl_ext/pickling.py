# SPDX-License-Identifier: Apache-2.0
"""Pickles: arrays of other libraries, and the device of unpickled arrays."""

from sycl_ext._setup import public as _public

#: The modules of the public names.  ``pickling.pyi`` lists them for editors and type checkers.
_PUBLIC = {
    "_exchange.libraries": "register",
    "_tensor.pickling": "to_device",
}

__getattr__, __dir__ = _public.lazily(__name__, _PUBLIC)
__all__ = [*__dir__()]
