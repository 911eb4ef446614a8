# SPDX-License-Identifier: Apache-2.0
"""A kernel that copies memory late, as SPIR-V, so that no compiler is needed.

It is written in the text form of SPIR-V, as ``spirv-as`` reads it, and is this OpenCL C:

    kernel void late_copy(global ulong* target, global ulong* source, ulong count, ulong loops) {
      const ulong first = get_global_id(0);
      ulong state = first;
      for (ulong n = 0; n < loops; ++n) state = state * 6364136223846793005 + 1442695040888963407;
      const ulong start = first + (state == 6364136223846793005);  // never, and it needs the loop
      for (ulong i = start; i < count; i += 64) target[i] = source[i];
    }
"""

import struct
from collections import defaultdict

#: The name of the kernel, and the number of its work items.
NAME, ITEMS = "late_copy", 64

ASSEMBLY = f"""
OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %late_copy "{NAME}" %id
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %id Constant
%void = OpTypeVoid
%bool = OpTypeBool
%ulong = OpTypeInt 64 0
%ulong3 = OpTypeVector %ulong 3
%input = OpTypePointer Input %ulong3
%array = OpTypePointer CrossWorkgroup %ulong
%function = OpTypeFunction %void %array %array %ulong %ulong
%zero = OpConstant %ulong 0
%one = OpConstant %ulong 1
%items = OpConstant %ulong {ITEMS}
%multiplier = OpConstant %ulong 6364136223846793005
%increment = OpConstant %ulong 1442695040888963407
%id = OpVariable %input Input
%late_copy = OpFunction %void None %function
%target = OpFunctionParameter %array
%source = OpFunctionParameter %array
%count = OpFunctionParameter %ulong
%loops = OpFunctionParameter %ulong
%entry = OpLabel
%ids = OpLoad %ulong3 %id
%first = OpCompositeExtract %ulong %ids 0
OpBranch %wait
%wait = OpLabel
%n = OpPhi %ulong %zero %entry %next_n %step
%state = OpPhi %ulong %first %entry %next_state %step
%is_early = OpULessThan %bool %n %loops
OpBranchConditional %is_early %step %waited
%step = OpLabel
%product = OpIMul %ulong %state %multiplier
%next_state = OpIAdd %ulong %product %increment
%next_n = OpIAdd %ulong %n %one
OpBranch %wait
%waited = OpLabel
%is_rare = OpIEqual %bool %state %multiplier
%shift = OpSelect %ulong %is_rare %one %zero
%start = OpIAdd %ulong %first %shift
OpBranch %copy
%copy = OpLabel
%i = OpPhi %ulong %start %waited %next_i %body
%is_inside = OpULessThan %bool %i %count
OpBranchConditional %is_inside %body %end
%body = OpLabel
%from = OpInBoundsPtrAccessChain %array %source %i
%to = OpInBoundsPtrAccessChain %array %target %i
%element = OpLoad %ulong %from Aligned 8
OpStore %to %element Aligned 8
%next_i = OpIAdd %ulong %i %items
OpBranch %copy
%end = OpLabel
OpReturn
OpFunctionEnd
"""

#: Numbers of the specification of SPIR-V 1.0: instructions, and the words that are their operands.
INSTRUCTIONS = {
    "OpMemoryModel": 14, "OpEntryPoint": 15, "OpCapability": 17, "OpTypeVoid": 19, "OpTypeBool": 20,
    "OpTypeInt": 21, "OpTypeVector": 23, "OpTypePointer": 32, "OpTypeFunction": 33,
    "OpConstant": 43, "OpFunction": 54, "OpFunctionParameter": 55, "OpFunctionEnd": 56,
    "OpVariable": 59, "OpLoad": 61, "OpStore": 62, "OpInBoundsPtrAccessChain": 70, "OpDecorate": 71,
    "OpCompositeExtract": 81, "OpIAdd": 128, "OpIMul": 132, "OpSelect": 169, "OpIEqual": 170,
    "OpULessThan": 176, "OpPhi": 245, "OpLabel": 248, "OpBranch": 249, "OpBranchConditional": 250,
    "OpReturn": 253,
}  # fmt: skip
WORDS = {
    "Addresses": 4, "Kernel": 6, "Int64": 11, "Physical64": 2, "OpenCL": 2, "BuiltIn": 11,
    "GlobalInvocationId": 28, "Constant": 22, "Input": 1, "CrossWorkgroup": 5, "None": 0,
    "Aligned": 2,
}  # fmt: skip
MAGIC, VERSION = 0x0723_0203, 0x0001_0000
#: Instructions with a result and without a type of it.
UNTYPED = ("OpType", "OpLabel")


def late_copy() -> bytes:
    """Return the module with the kernel."""
    numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers) + 1)  # %name -> its id
    body: list[int] = []
    for line in ASSEMBLY.strip().splitlines():
        result, _, rest = line.rpartition(" = ")
        name, *operands = rest.split()
        if result:
            operands.insert(0 if name.startswith(UNTYPED) else 1, result)
        words = [word for operand in operands for word in encoded(operand, numbers)]
        if name == "OpConstant":  # of 64 bits, the lower 32 first
            words[2:] = words[2] & 0xFFFF_FFFF, words[2] >> 32
        body += [len(words) + 1 << 16 | INSTRUCTIONS[name], *words]
    header = [MAGIC, VERSION, 0, len(numbers) + 1, 0]
    return struct.pack(f"<{len(header) + len(body)}I", *header, *body)


def encoded(operand: str, numbers: defaultdict[str, int]) -> list[int]:
    """Return the words of an operand: an id, a text, a name of the specification, or a number."""
    if operand.startswith("%"):
        return [numbers[operand]]
    if operand.startswith('"'):
        text = operand.strip('"').encode()
        text += bytes(4 - len(text) % 4)  # at least one zero byte ends it
        return list(struct.unpack(f"<{len(text) // 4}I", text))
    return [WORDS[operand] if operand in WORDS else int(operand)]
