# SPDX-License-Identifier: Apache-2.0
"""MPI: requests over staged memory."""

from sycl_ext._setup import public as _public

#: The modules of the public names.  ``mpi.pyi`` lists them for editors and type checkers.
_PUBLIC = {
    "_exchange.staging": "StagedRequest staged_request",
}

__getattr__, __dir__ = _public.lazily(__name__, _PUBLIC)
__all__ = [*__dir__()]
