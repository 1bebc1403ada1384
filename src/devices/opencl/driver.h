// SPDX-License-Identifier: Apache-2.0
// The OpenCL loader, loaded at first use: Parallax is built with Khronos' headers alone, and runs on machines
// without OpenCL.
#pragma once

#include <string>
#include <string_view>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "parallax/error.h"

namespace parallax::opencl {

#define PARALLAX_OPENCL_FUNCTIONS(F) \
  F(clGetPlatformIDs)                \
  F(clGetPlatformInfo)               \
  F(clGetDeviceIDs)                  \
  F(clGetDeviceInfo)                 \
  F(clCreateContext)                 \
  F(clReleaseContext)                \
  F(clCreateCommandQueue)            \
  F(clReleaseCommandQueue)           \
  F(clCreateBuffer)                  \
  F(clReleaseMemObject)              \
  F(clCreateProgramWithSource)       \
  F(clCreateProgramWithBinary)       \
  F(clBuildProgram)                  \
  F(clGetProgramInfo)                \
  F(clGetProgramBuildInfo)           \
  F(clReleaseProgram)                \
  F(clCreateKernel)                  \
  F(clSetKernelArg)                  \
  F(clGetKernelWorkGroupInfo)        \
  F(clReleaseKernel)                 \
  F(clEnqueueNDRangeKernel)          \
  F(clEnqueueMarkerWithWaitList)     \
  F(clEnqueueFillBuffer)             \
  F(clEnqueueReadBuffer)             \
  F(clEnqueueWriteBuffer)            \
  F(clEnqueueMapBuffer)              \
  F(clEnqueueUnmapMemObject)         \
  F(clGetEventProfilingInfo)         \
  F(clReleaseEvent)                  \
  F(clWaitForEvents)                 \
  F(clFlush)                         \
  F(clFinish)

struct Driver {
#define PARALLAX_DECLARE(name) decltype(&::name) name = nullptr;
  PARALLAX_OPENCL_FUNCTIONS(PARALLAX_DECLARE)
#undef PARALLAX_DECLARE
};

// Loads a library of that name.
// \throws Error (device) that says what is missing
Driver load_driver(const char* library_name);
// The driver of this process.
// \throws Error (device) where there is none
const Driver& driver();
// For tests: takes the driver's place, and must outlive its objects; null = the driver itself.
void replace_driver(const Driver* other);

// The name of a result: "CL_OUT_OF_RESOURCES".
std::string describe(cl_int result);
// \throws Error that names the call, unless the result is CL_SUCCESS
void check(cl_int result, std::string_view call);

}  // namespace parallax::opencl
