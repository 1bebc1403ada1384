// SPDX-License-Identifier: Apache-2.0
// The CUDA driver and its run-time compiler, loaded at first use: Parallax is built without the toolkit, and
// runs on machines without a GPU. Declares the part of NVIDIA's binary interface that is used.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "parallax/error.h"

namespace parallax::cuda {

using Result = int;
using DeviceNumber = int;
using DeviceAddress = unsigned long long;
using ContextHandle = struct CUctx_st*;
using StreamHandle = struct CUstream_st*;
using EventHandle = struct CUevent_st*;
using ModuleHandle = struct CUmod_st*;
using FunctionHandle = struct CUfunc_st*;
using GraphHandle = struct CUgraph_st*;
using GraphNodeHandle = struct CUgraphNode_st*;
using GraphExecHandle = struct CUgraphExec_st*;
using CompilerProgram = struct _nvrtcProgram*;

inline constexpr Result out_of_memory = 2;

struct LaunchAttribute {
  int id;
  int reserved;
  union {
    char bytes[64];
    int programmatic_serialization;
    int cooperative;
  } value;
};
// Flags of events: a waiting thread sleeps; no time is taken.
inline constexpr unsigned sleeping_event = 1, untimed_event = 2;
inline constexpr int cooperative = 2, programmatic_serialization = 6;

struct LaunchConfiguration {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct KernelNodeParameters {
  FunctionHandle function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void** arguments;
  void** extra;
  void* kernel;
  ContextHandle context;
};

enum MemoryType : unsigned { host_memory_type = 1, device_memory_type = 2 };

struct Copy2D {
  std::size_t source_x, source_y;
  MemoryType source_type;
  const void* source_host;
  DeviceAddress source_device;
  void* source_array;
  std::size_t source_pitch;
  std::size_t target_x, target_y;
  MemoryType target_type;
  void* target_host;
  DeviceAddress target_device;
  void* target_array;
  std::size_t target_pitch;
  std::size_t width_bytes, height;
};

enum DeviceAttribute {
  multiprocessor_count = 16,
  capability_major = 75,
  capability_minor = 76,
  concurrent_managed_access = 89,
  cooperative_launch = 95,
  shared_bytes_per_block_opt_in = 97,
};
enum FunctionAttribute { local_bytes_a_thread = 3, registers_a_thread = 4, dynamic_shared_limit = 8 };

// name, arguments
#define PARALLAX_DRIVER_FUNCTIONS(X)                                                                    \
  X(cuInit, (unsigned flags))                                                                           \
  X(cuDriverGetVersion, (int* version))                                                                 \
  X(cuGetErrorName, (Result result, const char** text))                                                 \
  X(cuGetErrorString, (Result result, const char** text))                                               \
  X(cuDeviceGetCount, (int* count))                                                                     \
  X(cuDeviceGet, (DeviceNumber * device, int ordinal))                                                  \
  X(cuDeviceGetName, (char* name, int size, DeviceNumber device))                                       \
  X(cuDeviceTotalMem_v2, (std::size_t * bytes, DeviceNumber device))                                    \
  X(cuDeviceGetAttribute, (int* value, int attribute, DeviceNumber device))                             \
  X(cuDevicePrimaryCtxRetain, (ContextHandle * context, DeviceNumber device))                           \
  X(cuDevicePrimaryCtxRelease_v2, (DeviceNumber device))                                                \
  X(cuCtxPushCurrent_v2, (ContextHandle context))                                                       \
  X(cuCtxPopCurrent_v2, (ContextHandle * context))                                                      \
  X(cuMemGetInfo_v2, (std::size_t * free, std::size_t * total))                                         \
  X(cuMemAlloc_v2, (DeviceAddress * address, std::size_t bytes))                                        \
  X(cuMemAllocManaged, (DeviceAddress * address, std::size_t bytes, unsigned flags))                    \
  X(cuMemPrefetchAsync,                                                                                 \
    (DeviceAddress address, std::size_t bytes, DeviceNumber device, StreamHandle stream))               \
  X(cuMemFree_v2, (DeviceAddress address))                                                              \
  X(cuMemHostAlloc, (void** memory, std::size_t bytes, unsigned flags))                                 \
  X(cuMemFreeHost, (void* memory))                                                                      \
  X(cuPointerGetAttributes, (unsigned count, int* attributes, void** values, DeviceAddress address))    \
  X(cuMemcpy2DAsync_v2, (const Copy2D* copy, StreamHandle stream))                                      \
  X(cuMemcpyHtoDAsync_v2, (DeviceAddress to, const void* from, std::size_t bytes, StreamHandle stream)) \
  X(cuMemcpyDtoHAsync_v2, (void* to, DeviceAddress from, std::size_t bytes, StreamHandle stream))       \
  X(cuMemsetD8Async, (DeviceAddress to, unsigned char value, std::size_t bytes, StreamHandle stream))   \
  X(cuStreamCreate, (StreamHandle * stream, unsigned flags))                                            \
  X(cuStreamDestroy_v2, (StreamHandle stream))                                                          \
  X(cuStreamSynchronize, (StreamHandle stream))                                                         \
  X(cuStreamWaitEvent, (StreamHandle stream, EventHandle event, unsigned flags))                        \
  X(cuStreamBeginCapture_v2, (StreamHandle stream, int mode))                                           \
  X(cuStreamEndCapture, (StreamHandle stream, GraphHandle * graph))                                     \
  X(cuStreamGetCaptureInfo_v2, (StreamHandle stream, int* status, unsigned long long* id,               \
                                GraphHandle* graph, const GraphNodeHandle** nodes, std::size_t* count)) \
  X(cuGraphExecKernelNodeSetParams_v2,                                                                  \
    (GraphExecHandle executable, GraphNodeHandle node, const KernelNodeParameters* parameters))         \
  X(cuGraphInstantiateWithFlags,                                                                        \
    (GraphExecHandle * executable, GraphHandle graph, unsigned long long flags))                        \
  X(cuGraphLaunch, (GraphExecHandle executable, StreamHandle stream))                                   \
  X(cuGraphDestroy, (GraphHandle graph))                                                                \
  X(cuGraphExecDestroy, (GraphExecHandle executable))                                                   \
  X(cuEventCreate, (EventHandle * event, unsigned flags))                                               \
  X(cuEventDestroy_v2, (EventHandle event))                                                             \
  X(cuEventRecord, (EventHandle event, StreamHandle stream))                                            \
  X(cuEventSynchronize, (EventHandle event))                                                            \
  X(cuEventElapsedTime, (float* milliseconds, EventHandle from, EventHandle to))                        \
  X(cuModuleLoadData, (ModuleHandle * module, const void* image))                                       \
  X(cuModuleUnload, (ModuleHandle module))                                                              \
  X(cuModuleGetFunction, (FunctionHandle * function, ModuleHandle module, const char* name))            \
  X(cuFuncGetAttribute, (int* value, int attribute, FunctionHandle function))                           \
  X(cuFuncSetAttribute, (FunctionHandle function, int attribute, int value))                            \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                        \
    (int* blocks, FunctionHandle function, int threads, std::size_t shared_bytes))                      \
  X(cuLaunchKernelEx,                                                                                   \
    (const LaunchConfiguration* configuration, FunctionHandle function, void** arguments, void** extra))

#define PARALLAX_COMPILER_FUNCTIONS(X)                                                                      \
  X(nvrtcVersion, (int* major, int* minor))                                                                 \
  X(nvrtcCreateProgram, (CompilerProgram * program, const char* source, const char* name, int header_count, \
                         const char* const* headers, const char* const* header_names))                      \
  X(nvrtcDestroyProgram, (CompilerProgram * program))                                                       \
  X(nvrtcCompileProgram, (CompilerProgram program, int option_count, const char* const* options))           \
  X(nvrtcGetProgramLogSize, (CompilerProgram program, std::size_t * bytes))                                 \
  X(nvrtcGetProgramLog, (CompilerProgram program, char* log))                                               \
  X(nvrtcGetCUBINSize, (CompilerProgram program, std::size_t * bytes))                                      \
  X(nvrtcGetCUBIN, (CompilerProgram program, char* code))

#define PARALLAX_DECLARE(name, arguments) Result(*name) arguments = nullptr;

struct Driver {
  PARALLAX_DRIVER_FUNCTIONS(PARALLAX_DECLARE)
  int version = 0;  // 13000 for CUDA 13.0
};

struct Compiler {
  PARALLAX_COMPILER_FUNCTIONS(PARALLAX_DECLARE)
  int major = 0, minor = 0;
};

#undef PARALLAX_DECLARE

// "13.0" for 13000.
std::string version_text(int version);

// The driver, initialised.
// \throws Error (device) when there is none, or it is too old
const Driver& driver();

// The newest compiler on this machine whose code a driver of that version can load.
// \throws Error (device) when there is none
const Compiler& compiler(int driver_version);

// Throws unless `result` is success; `call` names the failed call and its size.
void check(Result result, std::string_view call);

}  // namespace parallax::cuda
