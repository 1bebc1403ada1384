/* SPDX-License-Identifier: Apache-2.0 */
/**
 * \file
 * The C interface, and the only binary interface that stays compatible: a program linked against
 * libparallax.so.0.1 runs with every later library of that name. Plain C99.
 *
 *     parallax_matcher* matcher;
 *     parallax_matcher_create("census", NULL, &matcher);
 *     parallax_matcher_set_int(matcher, "disparities", 128);
 *     parallax_matcher_plan(matcher, 640, 480, PARALLAX_UINT8);
 *     parallax_matcher_run(matcher, &pair, &map);
 *     parallax_matcher_release(matcher);
 *
 * Every function that can fail returns a parallax_code; parallax_error_message() has the reason. A failed
 * function leaves its outputs as they were, except for pixels. Strings are UTF-8 and end with 0.
 *
 * The first member of each struct that a caller fills is `struct_size`, the size that the caller was compiled
 * with: later versions add members at the end, and members that a caller does not know count as 0. The macros
 * PARALLAX_…_INIT set it.
 *
 * Functions may be called from any thread. Calls on one matcher from several threads run one after the other.
 */
#ifndef PARALLAX_PARALLAX_C_H
#define PARALLAX_PARALLAX_C_H

#include <stddef.h>
#include <stdint.h>

#define PARALLAX_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/** Number of this interface. It grows by one with every release that adds a function or a member. */
#define PARALLAX_INTERFACE 1

/** Returns PARALLAX_INTERFACE of the library. A program needs a library whose number is not lower than its own. */
PARALLAX_API int32_t parallax_interface(void);
/** Returns the version of the library, such as "0.1.0". */
PARALLAX_API const char* parallax_version(void);

typedef enum parallax_code {
  PARALLAX_OK = 0,
  PARALLAX_ERROR_ARGUMENT = 1, /**< a parameter, size or image from the caller cannot be used */
  PARALLAX_ERROR_FILE = 2,     /**< a file cannot be read, written or parsed */
  PARALLAX_ERROR_DEVICE = 3,   /**< a device is missing, failed, or lacks a requested feature */
  PARALLAX_ERROR_MEMORY = 4,   /**< more memory is needed than is available or allowed */
  PARALLAX_ERROR_INTERNAL = 5, /**< a defect of Parallax itself */
  PARALLAX_ERROR_CANCELLED = 6 /**< a progress callback asked for the end */
} parallax_code;

/** Returns the message of the last failed call of this thread: one line, what failed and what to do. Empty if no
    call has failed. Valid until the next failed call of this thread. */
PARALLAX_API const char* parallax_error_message(void);

/** Receives a line of text, from any thread. Must not call Parallax and must not throw. */
typedef void (*parallax_log_function)(void* user, const char* message);
/** Sets the function that is told about work that takes seconds, such as the compilation of kernels for a GPU;
    NULL = none. For the whole process; not while a matcher is being planned. */
PARALLAX_API parallax_code parallax_set_log(parallax_log_function log, void* user);

/** Receives how much of the work is done, and returns 0 to go on; any other value ends the call with
    PARALLAX_ERROR_CANCELLED. Must not throw. */
typedef int32_t (*parallax_progress_function)(void* user, int64_t done, int64_t total);

/* Methods and devices. Lists stay valid as long as the process. */

/** Lists the methods of this build: "block", "bp", "census", "tiled-bp". */
PARALLAX_API parallax_code parallax_list_methods(const char* const** names, size_t* count);
/** Lists the presets of a method, "default" first. */
PARALLAX_API parallax_code parallax_list_presets(const char* method, const char* const** names,
                                                 size_t* count);

typedef enum parallax_kind {
  PARALLAX_FLAG = 0,    /**< "true" or "false" */
  PARALLAX_INTEGER = 1, /**< a number without a fraction */
  PARALLAX_NUMBER = 2,  /**< a number with or without a fraction */
  PARALLAX_CHOICE = 3   /**< one of `choices` */
} parallax_kind;

/** A parameter of a method. Made by the library. */
typedef struct parallax_parameter {
  size_t struct_size;
  const char* name; /**< "prefilter_cap" */
  parallax_kind kind;
  int32_t optional;           /**< not 0: may have no value, spelled "none" */
  int32_t expert;             /**< not 0: rarely worth changing */
  const char* help;           /**< one line, without a full stop */
  const char* unit;           /**< "pixels"; empty if it has none */
  const char* allowed;        /**< "an odd number from 1 to 31" */
  const char* group;          /**< heading under which user interfaces show it */
  const char* default_value;  /**< as text, of the preset "default" */
  double least, most;         /**< lowest and highest value of an integer or a number */
  const char* const* choices; /**< allowed values of a choice */
  size_t choice_count;
} parallax_parameter;

/** Lists the parameters of a method, in the order in which a user interface shows them. */
PARALLAX_API parallax_code parallax_list_parameters(const char* method,
                                                    const parallax_parameter* const** parameters,
                                                    size_t* count);

/** A device of this machine. Made by the library. */
typedef struct parallax_device {
  size_t struct_size;
  const char* name;        /**< for parallax_matcher_set_device(): "cuda:0" */
  const char* description; /**< name, and for a GPU memory, architecture and driver */
} parallax_device;

/** Lists the devices of this machine. The list is valid until this thread calls this function again. */
PARALLAX_API parallax_code parallax_list_devices(const parallax_device* const** devices, size_t* count);

/* Images. Row 0 is the top row. Views never own their memory. */

typedef enum parallax_type { PARALLAX_UINT8 = 8, PARALLAX_UINT16 = 16, PARALLAX_FLOAT32 = 32 } parallax_type;

/** A view of pixels that a function reads. Channels are interleaved. */
typedef struct parallax_image {
  size_t struct_size;
  const void* data; /**< the first pixel of the top row */
  int32_t width;    /**< in pixels */
  int32_t height;
  int64_t stride_bytes; /**< from one row to the next, a multiple of the size of a value; may be negative */
  parallax_type type;   /**< of each value */
  int32_t channels;     /**< 1 = gray, 3 = red, green, blue; of a cost volume, the labels */
} parallax_image;

/** A view of pixels that a function writes: all of them. */
typedef struct parallax_output {
  size_t struct_size;
  void* data;
  int32_t width;
  int32_t height;
  int64_t stride_bytes;
  parallax_type type;
  int32_t channels;
} parallax_output;

/** A rectified pair: left (x, y) shows the same point as right (x - d, y), where d is the disparity. */
typedef struct parallax_pair {
  size_t struct_size;
  const parallax_image* left;  /**< 8 or 16 bits, 1 or 3 channels */
  const parallax_image* right; /**< likewise */
  /** Where an image is valid: 8 bits, 0 = invalid. NULL = everywhere. */
  const parallax_image* left_mask;
  const parallax_image* right_mask;
  /** Data costs of the caller, 32-bit floats, a channel for each label; for a matcher with "cost" = "volume".
      NULL otherwise. */
  const parallax_image* costs;
} parallax_pair;

/** What a match writes. */
typedef struct parallax_map {
  size_t struct_size;
  const parallax_output* disparity;  /**< floats in pixels, +infinity = none */
  const parallax_output* status;     /**< 8 bits, values of parallax_status */
  const parallax_output* confidence; /**< floats, 0 to 1; NULL = not wanted */
} parallax_map;

#define PARALLAX_IMAGE_INIT \
  { sizeof(parallax_image), NULL, 0, 0, 0, PARALLAX_UINT8, 1 }
#define PARALLAX_OUTPUT_INIT \
  { sizeof(parallax_output), NULL, 0, 0, 0, PARALLAX_FLOAT32, 1 }
#define PARALLAX_PAIR_INIT \
  { sizeof(parallax_pair), NULL, NULL, NULL, NULL, NULL }
#define PARALLAX_MAP_INIT \
  { sizeof(parallax_map), NULL, NULL, NULL }

/** Why a pixel has its disparity, or none. */
typedef enum parallax_status {
  PARALLAX_MATCHED = 0,      /**< the matcher decided it */
  PARALLAX_FILLED = 1,       /**< it had no value and took that of a neighbour */
  PARALLAX_OUT_OF_RANGE = 2, /**< every right pixel of its search range is outside the image or masked */
  PARALLAX_INCONSISTENT = 3, /**< the left-right check rejected it */
  PARALLAX_AMBIGUOUS = 4,    /**< another disparity is almost as good */
  PARALLAX_TEXTURELESS = 5,  /**< too little texture to decide */
  PARALLAX_SPECKLE = 6,      /**< the speckle filter removed its small region */
  PARALLAX_INPUT_MASKED = 7  /**< the mask of the left image excludes it */
} parallax_status;

/* Matchers: choose a method, set parameters, plan, run often. */

/** A method with its parameters, and after parallax_matcher_plan() all the memory that a match needs. */
typedef struct parallax_matcher parallax_matcher;

/** Makes a matcher with the parameters of a preset (NULL = "default") on the device "auto", and counts one
    reference to it. */
PARALLAX_API parallax_code parallax_matcher_create(const char* method, const char* preset,
                                                   parallax_matcher** matcher);
/** Counts one more reference. */
PARALLAX_API parallax_code parallax_matcher_retain(parallax_matcher* matcher);
/** Counts one reference less; without any, the matcher is destroyed. NULL is allowed. */
PARALLAX_API void parallax_matcher_release(parallax_matcher* matcher);

/* Setting anything discards the plan. parallax_list_parameters() lists the names of parameters. Conditions on
   several parameters are checked by parallax_matcher_plan(). */

/** Sets an integer or a number, or a flag (0 or 1). */
PARALLAX_API parallax_code parallax_matcher_set_int(parallax_matcher* matcher, const char* name,
                                                    int64_t value);
/** Sets a number. */
PARALLAX_API parallax_code parallax_matcher_set_float(parallax_matcher* matcher, const char* name,
                                                      double value);
/** Sets a parameter of any kind from text; "none" takes the value of an optional parameter away. */
PARALLAX_API parallax_code parallax_matcher_set_string(parallax_matcher* matcher, const char* name,
                                                       const char* value);
/** Sets all parameters that a JSON object names, or none if one is refused: {"disparities": 64, "preset": "fast"}. A
    preset in it is applied first. */
PARALLAX_API parallax_code parallax_matcher_set_json(parallax_matcher* matcher, const char* json);

/** Gets a parameter as text. Valid until the next call on this matcher. */
PARALLAX_API parallax_code parallax_matcher_get_string(parallax_matcher* matcher, const char* name,
                                                       const char** value);
/** Gets "method" and all parameters as a JSON object. Valid until the next call on this matcher. */
PARALLAX_API parallax_code parallax_matcher_get_json(parallax_matcher* matcher, const char** json);

/** Chooses the device: "auto", "reference", "cpu", "cuda", "cuda:N", "opencl", "opencl:P.D". `threads` is for the
    cpu, 0 = one for each core. */
PARALLAX_API parallax_code parallax_matcher_set_device(parallax_matcher* matcher, const char* device,
                                                       int32_t threads);
/** Limits the memory of a plan, host and GPU together; 0 = what the machine has. */
PARALLAX_API parallax_code parallax_matcher_set_memory_limit(parallax_matcher* matcher, uint64_t bytes);
/** Sets a tunable, which never changes a result, for the device; an empty value unsets it. Planning checks it. */
PARALLAX_API parallax_code parallax_matcher_configure(parallax_matcher* matcher, const char* name,
                                                      const char* value);

/** Plans for images of a size and type (8 or 16 bits): checks everything, then allocates everything. Does nothing
    when the matcher is planned for them. */
PARALLAX_API parallax_code parallax_matcher_plan(parallax_matcher* matcher, int32_t width, int32_t height,
                                                 parallax_type type);
/** Returns what a plan would take, without allocating it. */
PARALLAX_API parallax_code parallax_matcher_estimate_memory(parallax_matcher* matcher, int32_t width,
                                                            int32_t height, parallax_type type,
                                                            uint64_t* bytes);
/** Returns what the plan holds. */
PARALLAX_API parallax_code parallax_matcher_memory(parallax_matcher* matcher, uint64_t* bytes);
/** Returns whether the planned matcher can write a confidence map: 0 or 1. */
PARALLAX_API parallax_code parallax_matcher_has_confidence(parallax_matcher* matcher, int32_t* has);

/** Matches a pair. Allocates nothing. The outputs must not overlap the inputs. */
PARALLAX_API parallax_code parallax_matcher_run(parallax_matcher* matcher, const parallax_pair* pair,
                                                const parallax_map* map);
/** Matches a pair in the memory of the GPU for which the matcher is planned, all pointers being addresses there.
    Enqueues the work on a stream of the GPU's primary context (CUstream or cudaStream_t; NULL = its default
    stream) and does not wait. Until the work is done, keep the memory and the matcher, and run the matcher on
    no other stream. */
PARALLAX_API parallax_code parallax_matcher_enqueue(parallax_matcher* matcher, const parallax_pair* pair,
                                                    const parallax_map* map, void* stream);
/** Matches a pair in tiles that fit into the memory limit, for images that are too large to plan for. Needs no
    plan. Not for confidence. `padding` is the overlap of tiles of belief propagation, in pixels; 0 = 80.
    `progress` counts tiles; NULL = none. */
PARALLAX_API parallax_code parallax_matcher_run_in_tiles(parallax_matcher* matcher, const parallax_pair* pair,
                                                         const parallax_map* map, int32_t padding,
                                                         parallax_progress_function progress, void* user);

/** The time that a stage of the last run took. */
typedef struct parallax_stage {
  const char* name;
  double milliseconds;
} parallax_stage;

/** Lists the stages of the last parallax_matcher_run(). Valid until the next call on this matcher. */
PARALLAX_API parallax_code parallax_matcher_stages(parallax_matcher* matcher, const parallax_stage** stages,
                                                   size_t* count);

/** Computes the energy that the method minimises, for any disparity map of a pair. */
PARALLAX_API parallax_code parallax_matcher_energy(parallax_matcher* matcher, const parallax_pair* pair,
                                                   const parallax_image* disparity, double* energy);

/* What a disparity map is for. */

/** Errors over the pixels with known truth. See parallax/evaluate.h. */
typedef struct parallax_metrics {
  size_t struct_size;
  uint64_t count; /**< evaluated pixels */
  double bad05, bad1, bad2,
      bad4;                  /**< share with an error above 0.5, 1, 2, 4 px, or without a value; 0 to 1 */
  double average, rms;       /**< mean error and its root mean square, over pixels with a value, in px */
  double a50, a90, a95, a99; /**< quantiles of the error in px */
  double d1;                 /**< KITTI's outliers: above 3 px and 5 % of the truth, or without a value */
  double coverage;           /**< share with a value */
  uint64_t mismatches;       /**< pixels whose rounded disparity is wrong */
} parallax_metrics;

#define PARALLAX_METRICS_INIT {sizeof(parallax_metrics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/** Compares a disparity map with the truth; both are floats, not finite = none. `mask`: 8 bits, 255 = evaluate; NULL =
    everywhere. */
PARALLAX_API parallax_code parallax_evaluate(const parallax_image* disparity, const parallax_image* truth,
                                             const parallax_image* mask, parallax_metrics* metrics);

/** A rectified rig. Lengths are in pixels, except for the baseline, whose unit is that of depths. */
typedef struct parallax_calibration {
  size_t struct_size;
  double focal;
  double centre_x, centre_y; /**< principal point of the left camera */
  double doffs;              /**< principal point of the right camera minus that of the left one, in x */
  double baseline;           /**< distance between the cameras */
  int32_t width, height;     /**< image size; 0 = unknown */
  int32_t disparities;       /**< a bound on the disparities; 0 = unknown */
} parallax_calibration;

#define PARALLAX_CALIBRATION_INIT \
  { sizeof(parallax_calibration), 0, 0, 0, 0, 0, 0, 0, 0 }

/** Reads Middlebury's calib.txt. */
PARALLAX_API parallax_code parallax_read_calibration(const char* path, parallax_calibration* calibration);

/** Writes the depth of every pixel as floats, 0 = none: focal · baseline / (disparity + doffs). */
PARALLAX_API parallax_code parallax_depth(const parallax_calibration* calibration,
                                          const parallax_image* disparity, const parallax_output* depth);

/** A coloured point: right, down and forward from the left camera, in the unit of the baseline. */
typedef struct parallax_point {
  float x, y, z;
  uint8_t red, green, blue, reserved;
} parallax_point;

/** Writes a point for each pixel that has a depth, row by row, coloured by the left image. `points` has room for all
    pixels; `count` receives how many were written. */
PARALLAX_API parallax_code parallax_points(const parallax_calibration* calibration,
                                           const parallax_image* disparity, const parallax_image* left,
                                           parallax_point* points, size_t* count);

/** Colours a disparity map by Turbo: up to `low` is blue, from `high` on is red, none is black. `colours` has 8 bits and
    3 channels. */
PARALLAX_API parallax_code parallax_colour(const parallax_image* disparity, double low, double high,
                                           const parallax_output* colours);

/** Reads a PFM of one channel. Release the pixels, rows without gaps, with parallax_free(). */
PARALLAX_API parallax_code parallax_read_pfm(const char* path, float** pixels, int32_t* width,
                                             int32_t* height);
PARALLAX_API void parallax_free(void* memory);
/** Writes floats of one channel, completely or not at all. */
PARALLAX_API parallax_code parallax_write_pfm(const char* path, const parallax_image* image);
/** Writes points as a binary PLY, completely or not at all. */
PARALLAX_API parallax_code parallax_write_ply(const char* path, const parallax_point* points, size_t count);

/** Renders a pair with exact truth: `scene` is "dots", "planes" or "layers"; every disparity is from 0 to
    `disparities` - 1. Pictures have 8 bits and 3 channels, the truth is float; all of one size. */
PARALLAX_API parallax_code parallax_synthesize(const char* scene, int32_t disparities, uint64_t seed,
                                               const parallax_output* left, const parallax_output* right,
                                               const parallax_output* truth);

#ifdef __cplusplus
}
#endif
#endif
