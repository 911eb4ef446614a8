# SPDX-License-Identifier: Apache-2.0
"""Another SYCL runtime in the process: a stand-in made of ours, and a library that uses it."""
