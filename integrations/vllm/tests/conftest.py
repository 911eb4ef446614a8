# SPDX-License-Identifier: Apache-2.0
"""``make test-engines`` fetches the wheel of vLLM, and names its folder."""

import os

collect_ignore = [] if os.environ.get("SYCL_EXT_VLLM") else ["test_real_vllm.py"]
