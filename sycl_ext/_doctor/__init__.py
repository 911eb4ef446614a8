# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext doctor``: finds out why there is no device, and says what mends it.

- ``facts``: what is known about a machine; ``collect`` finds it out, source by source
- ``probe``: what can crash, done in a process of its own; ``processes`` starts them, and reads what
  comes back
- ``checks``: a table of pure functions from facts to findings
- ``render``: facts and findings as text and as JSON
- ``command``: all of it, in order

The devices and their drivers are asked in processes of their own: asking may end the process.
"""
