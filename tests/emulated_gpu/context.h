// SPDX-License-Identifier: Apache-2.0
// The results of the driver's calls, and the primary context of a device.
#pragma once

#include <cstddef>

#include "devices/cuda/driver.h"

namespace emulated {

using parallax::cuda::Result;

// name, number, text of cuGetErrorName, text of cuGetErrorString
#define EMULATED_RESULTS(X)                                                                            \
  X(success, 0, "CUDA_SUCCESS", "no error")                                                            \
  X(invalid_value, 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument")                                  \
  X(out_of_memory, 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory")                                     \
  X(not_initialized, 3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error")                          \
  X(no_device, 100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected")                      \
  X(invalid_device, 101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal")                        \
  X(invalid_image, 200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid")                  \
  X(invalid_context, 201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context")                      \
  X(no_binary_for_gpu, 209, "CUDA_ERROR_NO_BINARY_FOR_GPU",                                            \
    "no kernel image is available for execution on the device")                                        \
  X(ecc_uncorrectable, 214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered")     \
  X(invalid_handle, 400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle")                       \
  X(illegal_state, 401, "CUDA_ERROR_ILLEGAL_STATE",                                                    \
    "the operation cannot be performed in the present state")                                          \
  X(not_found, 500, "CUDA_ERROR_NOT_FOUND", "named symbol not found")                                  \
  X(not_ready, 600, "CUDA_ERROR_NOT_READY", "device not ready")                                        \
  X(illegal_address, 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered")    \
  X(launch_out_of_resources, 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",                                \
    "too many resources requested for launch")                                                         \
  X(context_is_destroyed, 709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed")              \
  X(launch_failed, 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure")                      \
  X(cooperative_launch_too_large, 720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",                      \
    "too many blocks in cooperative launch")                                                           \
  X(not_supported, 801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported")                         \
  X(capture_unsupported, 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",                                 \
    "operation not permitted when stream is capturing")                                                \
  X(capture_invalidated, 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",                                 \
    "operation failed due to a previous error during capture")                                         \
  X(capture_merge, 902, "CUDA_ERROR_STREAM_CAPTURE_MERGE",                                             \
    "operation would result in a merge of separate capture sequences")                                 \
  X(capture_unmatched, 903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",                                     \
    "capture was not ended in the same stream as it began")                                            \
  X(capture_unjoined, 904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work") \
  X(capture_isolation, 905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",                                     \
    "dependency created on uncaptured work in another stream")                                         \
  X(capture_implicit, 906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",                                       \
    "operation would make the legacy stream depend on a capturing blocking stream")                    \
  X(captured_event, 907, "CUDA_ERROR_CAPTURED_EVENT",                                                  \
    "operation not permitted on an event last recorded in a capturing stream")                         \
  X(capture_wrong_thread, 908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",                               \
    "attempt to terminate a thread-local capture sequence from another thread")                        \
  X(unknown, 999, "CUDA_ERROR_UNKNOWN", "unknown error")

enum : Result {
#define EMULATED_ENUMERATE(name, number, cuda_name, text) name = number,
  EMULATED_RESULTS(EMULATED_ENUMERATE)
#undef EMULATED_ENUMERATE
};

struct Context {
  int device = 0;
  int references = 0;
  // Once a kernel has failed, every call fails with the same result.
  Result failure = success;
  std::size_t memory_used = 0;
};

}  // namespace emulated
