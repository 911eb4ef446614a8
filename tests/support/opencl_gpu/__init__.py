"""An OpenCL GPU that runs kernels: the CPU device under a layer of the OpenCL loader."""
