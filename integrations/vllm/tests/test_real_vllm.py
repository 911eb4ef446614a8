# SPDX-License-Identifier: Apache-2.0
"""The engines with the modules of a wheel of vLLM: ``make test-engines`` and ``newest-engines``.

`NAMES` has all that the engines use of vLLM, so a release that breaks one is reported by its name.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import environments

pytestmark = pytest.mark.timeout(300)

HERE = Path(__file__).parent
WHEEL = os.environ["SYCL_EXT_VLLM"]

#: Module -> what the engines and these tests use of it, with the parameters that they pass.
NAMES = {
    "distributed/weight_transfer/base.py": {
        "WeightTransferInitInfo": [],
        "WeightTransferUpdateInfo": [],
        "WeightTransferEngine.__init__": ["config", "vllm_config", "device", "model"],
        "WeightTransferEngine.init_transfer_engine": ["init_info"],
        "WeightTransferEngine.start_weight_update": [],
        "WeightTransferEngine.receive_weights": ["update_info"],
        "WeightTransferEngine.finish_weight_update": [],
        "WeightTransferEngine.shutdown": [],
        "TrainerInitInfo.is_sender": [],
        "TrainerWeightTransferEngine.__init__": ["client", "source", "is_sender", "rank"],
        "TrainerWeightTransferEngine.trainer_init": ["init_info", "client", "source"],
        "TrainerWeightTransferEngine.send_weights": [],
        "WeightSource.iter_full": [],
        "WeightSource.implements_iter_full": [],
        "WeightSource.owned_names": ["rank"],
        "WeightSource.metadata": [],
        "VLLMWeightSyncClient.init_weight_transfer_engine": ["init_info"],
        "VLLMWeightSyncClient.start_weight_update": [],
        "VLLMWeightSyncClient.update_weights": ["update_info"],
        "VLLMWeightSyncClient.finish_weight_update": ["weight_version"],
    },
    "distributed/weight_transfer/factory.py": {
        "WeightTransferEngineFactory.register_engine": ["name", "module_path_or_cls", "class_name"],
        "WeightTransferTrainerFactory.register_engine": [
            "name",
            "module_path_or_cls",
            "class_name",
        ],
    },
    "model_executor/model_loader/mtp_validation.py": {"disable_mtp_completeness_check": []},
    "model_executor/model_loader/reload/layerwise.py": {
        "initialize_layerwise_reload": ["model"],
        "finalize_layerwise_reload": [],  # it passes all on to the next
        "finalize_layerwise_processing": ["model", "model_config"],
    },
}


def parameters(node):
    """The names of the parameters of a function, without ``self``; of a class: none."""
    if isinstance(node, ast.ClassDef):
        return []
    names = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def functions(path):
    """The functions, methods and classes of a module -> their parameters."""
    seen = {}
    kinds = (ast.FunctionDef, ast.ClassDef)
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, kinds):
            seen[node.name] = parameters(node)
        if isinstance(node, ast.ClassDef):
            methods = [method for method in node.body if isinstance(method, kinds)]
            seen.update((f"{node.name}.{m.name}", parameters(m)) for m in methods)
    return seen


@pytest.mark.parametrize("module", NAMES)
def test_names(module):
    seen = functions(Path(WHEEL, "vllm", module))
    release = Path(WHEEL).name
    for name, used in NAMES[module].items():
        assert name in seen, f"{release}: {module} has no {name}"
        assert seen[name] == used, f"{release}: {name} of {module} has the parameters {seen[name]}"


def test_entry_point_group_of_vllm():
    text = Path(WHEEL, "vllm", "plugins", "__init__.py").read_text()
    assert 'DEFAULT_PLUGINS_GROUP = "vllm.general_plugins"' in text


@pytest.mark.parametrize(
    ("where", "device", "how"),
    [("cpu", "cpu", "shared memory"), ("level_zero_v2", "level_zero:gpu:1", "handle")],
)
def test_worker_loads_the_weights_of_a_trainer(where, device, how, tmp_path):
    done = subprocess.run(
        [sys.executable, "-u", HERE / "train.py", device],
        env={
            **environments.clean_environment(),
            **environments.variables_of(where, tmp_path),
            "SYCL_EXT_VLLM": WHEEL,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if "Creating weight transfer" not in line]
    assert lines == [
        "init: ",
        *(
            line
            for number in (0.0, 5.0)
            for line in (
                "start_weight_update: start",
                f"sent by {[how, how]}",
                f"update_weights: weight {[[number] * 2] * 2}, bias [1.0, 1.0], complete, complete",
                "finish_weight_update: finish, complete",
            )
        ),
        "source=None: the engine sends the weights of a WeightSource",
        "Sharded has no iter_full(), which yields what is sent",
    ]
