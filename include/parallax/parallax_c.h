/* SPDX-License-Identifier: Apache-2.0 */
/**
 * \file
 * The C interface, in plain C99. It is the library's only stable ABI: a program linked against
 * libparallax.so.0.2 runs with every later library of that name.
 *
 *     parallax_matcher* matcher;
 *     parallax_matcher_create("census", NULL, &matcher);
 *     parallax_matcher_set_int(matcher, "disparities", 128);
 *     parallax_matcher_plan(matcher, 640, 480, PARALLAX_UINT8);
 *     parallax_matcher_run(matcher, &pair, &map);
 *     parallax_matcher_release(matcher);
 *
 * Every function that can fail returns a parallax_code; parallax_error_message() returns the reason. A
 * function that fails leaves its outputs unchanged, except for pixels. Strings are null-terminated UTF-8.
 *
 * The first member of each struct that a caller fills is `struct_size`, the size of the struct when the
 * caller was compiled. Later versions add members at the end; members that a caller does not know count as 0.
 * The macros PARALLAX_…_INIT set `struct_size`.
 *
 * Functions may be called from any thread. Calls on one matcher from several threads run one after the other,
 * but for parallax_matcher_cancel().
 */
#ifndef PARALLAX_PARALLAX_C_H
#define PARALLAX_PARALLAX_C_H

#include <stddef.h>
#include <stdint.h>

/** Exports a function from the shared library. */
#define PARALLAX_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/** Version number of this interface. Every release that adds a function or a member increases it by one. */
#define PARALLAX_INTERFACE 2

/** Returns the PARALLAX_INTERFACE that the library was built with. A program needs a library whose number
    is at least the program's own. */
PARALLAX_API int32_t parallax_interface(void);
/** Returns the version of the library, such as "0.2.0". */
PARALLAX_API const char* parallax_version(void);

/** Whether a function failed, and why. */
typedef enum parallax_code {
  PARALLAX_OK = 0,             /**< success */
  PARALLAX_ERROR_ARGUMENT = 1, /**< a parameter, size or image from the caller cannot be used */
  PARALLAX_ERROR_FILE = 2,     /**< a file cannot be read, written or parsed */
  PARALLAX_ERROR_DEVICE = 3,   /**< a device is missing, has failed, or lacks a requested feature */
  PARALLAX_ERROR_MEMORY = 4,   /**< more memory is needed than is available or allowed */
  PARALLAX_ERROR_INTERNAL = 5, /**< a bug in Parallax itself */
  PARALLAX_ERROR_CANCELLED = 6 /**< another thread, an interrupt or a progress callback ended the call */
} parallax_code;

/** Returns the message of the last failed call in this thread: one line that says what failed and what to
    do. It is empty if no call has failed, and valid until the next failed call in this thread. */
PARALLAX_API const char* parallax_error_message(void);

/** Receives a line of text, from any thread. Must not call Parallax and must not throw. */
typedef void (*parallax_log_function)(void* user, const char* message);
/** Sets the function that is told about work that takes seconds, such as the compilation of kernels for a
    GPU; NULL = none. It applies to the whole process. Do not call it while a matcher is being planned. */
PARALLAX_API parallax_code parallax_set_log(parallax_log_function log, void* user);

/** Returns 0 to let the call that asks go on; any other value ends it with PARALLAX_ERROR_CANCELLED. May use
    other matchers, but not the one that is at work. Must not throw. */
typedef int32_t (*parallax_interrupt_function)(void* user);
/** Sets the function that long calls of this thread ask some 20 times a second whether to go on; NULL = none.
    Interpreters need it to see signals such as Ctrl-C while a call is at work. A call that waits for a pool, or
    for a matcher that another thread uses, asks too; one that waits for a GPU does not. */
PARALLAX_API parallax_code parallax_set_interrupt(parallax_interrupt_function interrupt, void* user);

/** Receives how much of the work is done, and returns 0 to continue; any other value ends the call with
    PARALLAX_ERROR_CANCELLED. Must not throw. */
typedef int32_t (*parallax_progress_function)(void* user, int64_t done, int64_t total);

/* Methods and devices. Lists stay valid until the process ends. */

/** Lists the methods of this build: "block", "bp", "census", "sgm", "tiled-bp". */
PARALLAX_API parallax_code parallax_list_methods(const char* const** names, size_t* count);
/** Lists the presets of a method, "default" first. */
PARALLAX_API parallax_code parallax_list_presets(const char* method, const char* const** names,
                                                 size_t* count);

/** What values a parameter takes, as text. */
typedef enum parallax_kind {
  PARALLAX_FLAG = 0,    /**< "true" or "false" */
  PARALLAX_INTEGER = 1, /**< a number without a fraction */
  PARALLAX_NUMBER = 2,  /**< a number with or without a fraction */
  PARALLAX_CHOICE = 3   /**< one of `choices` */
} parallax_kind;

/** A parameter of a method. The library fills it. */
typedef struct parallax_parameter {
  size_t struct_size;         /**< size of this struct for the library */
  const char* name;           /**< "prefilter_cap" */
  parallax_kind kind;         /**< what values it takes */
  int32_t optional;           /**< not 0: may have no value, written "none" */
  int32_t expert;             /**< not 0: rarely worth changing */
  const char* help;           /**< one line, without a full stop */
  const char* unit;           /**< "pixels"; empty if it has none */
  const char* allowed;        /**< "an odd number from 1 to 31" */
  const char* group;          /**< heading under which user interfaces show it */
  const char* default_value;  /**< value in the preset "default", as text */
  double least;               /**< lowest value of an integer or a number */
  double most;                /**< highest value of an integer or a number */
  const char* const* choices; /**< allowed values of a choice */
  size_t choice_count;        /**< number of `choices` */
  /** Devices on which it works: "cpu". Others of the method refuse all values but "0", "false" and "none". */
  const char* const* devices;
  size_t device_count; /**< number of `devices` */
  const char* const*
      choice_devices; /**< for each of `choices`, the devices on which it works: "reference, cpu" */
} parallax_parameter;

/** Lists the parameters of a method, in the order in which a user interface shows them. */
PARALLAX_API parallax_code parallax_list_parameters(const char* method,
                                                    const parallax_parameter* const** parameters,
                                                    size_t* count);

/** A device of this machine. The library fills it. */
typedef struct parallax_device {
  size_t struct_size;      /**< size of this struct for the library */
  const char* name;        /**< for parallax_matcher_set_device(): "cuda:0" */
  const char* description; /**< name; for a GPU, also its memory, architecture and driver */
} parallax_device;

/** Lists the devices of this machine. The list is valid until this thread calls this function again,
    or ends. */
PARALLAX_API parallax_code parallax_list_devices(const parallax_device* const** devices, size_t* count);

/* Images. Row 0 is the top row. Views never own their memory. */

/** Type of the values of an image; the number is the bits per value. */
typedef enum parallax_type { PARALLAX_UINT8 = 8, PARALLAX_UINT16 = 16, PARALLAX_FLOAT32 = 32 } parallax_type;

/** A view of pixels that a function reads. Channels are interleaved. */
typedef struct parallax_image {
  size_t struct_size;   /**< size of this struct for the caller */
  const void* data;     /**< the first pixel of the top row */
  int32_t width;        /**< columns */
  int32_t height;       /**< rows */
  int64_t stride_bytes; /**< from one row to the next, a multiple of the size of a value; may be negative */
  parallax_type type;   /**< of each value */
  int32_t channels;     /**< 1 = gray; 3 = red, green, blue; in a cost volume, the labels */
} parallax_image;

/** A view of pixels that a function writes. It writes all of them. */
typedef struct parallax_output {
  size_t struct_size;   /**< size of this struct for the caller */
  void* data;           /**< the first pixel of the top row */
  int32_t width;        /**< columns */
  int32_t height;       /**< rows */
  int64_t stride_bytes; /**< as in parallax_image */
  parallax_type type;   /**< of each value */
  int32_t channels;     /**< 3 for colours, else 1 */
} parallax_output;

/** A rectified pair: left (x, y) shows the same point as right (x - d, y), where d is the disparity. */
typedef struct parallax_pair {
  size_t struct_size;          /**< size of this struct for the caller */
  const parallax_image* left;  /**< 8 or 16 bits, 1 or 3 channels */
  const parallax_image* right; /**< likewise */
  /** Where the left image is valid: 8 bits, 0 = invalid. NULL = everywhere. */
  const parallax_image* left_mask;
  const parallax_image* right_mask; /**< likewise for the right image */
  /** The caller's data costs, 32-bit floats with one channel for each label, for a matcher with "cost" =
      "volume"; otherwise NULL. */
  const parallax_image* costs;
} parallax_pair;

/** The outputs of a match. */
typedef struct parallax_map {
  size_t struct_size;                /**< size of this struct for the caller */
  const parallax_output* disparity;  /**< floats in pixels, +infinity = none */
  const parallax_output* status;     /**< 8 bits, values of parallax_status */
  const parallax_output* confidence; /**< floats, 0 to 1; NULL = not wanted */
  /** By how many rows the match is lower: left (x, y) shows the same point as right (x - d, y + row offset).
      Floats, +infinity where there is no disparity; NULL = not wanted. */
  const parallax_output* row_offset;
  /** The map of the right image: right (x, y) shows the same point as left (x + disparity, y + row offset). It
      is the map of the mirrored and exchanged images, mirrored back. NULL = not wanted; otherwise the matcher
      must be for both maps: parallax_matcher_set_both_maps(); a pool needs no such setting. */
  const struct parallax_map* right;
} parallax_map;

/** Initial value of a struct: sets `struct_size`, a type and one channel; all else is 0.
 * @{ */
#define PARALLAX_IMAGE_INIT \
  { sizeof(parallax_image), NULL, 0, 0, 0, PARALLAX_UINT8, 1 }
#define PARALLAX_OUTPUT_INIT \
  { sizeof(parallax_output), NULL, 0, 0, 0, PARALLAX_FLOAT32, 1 }
#define PARALLAX_PAIR_INIT \
  { sizeof(parallax_pair), NULL, NULL, NULL, NULL, NULL }
#define PARALLAX_MAP_INIT \
  { sizeof(parallax_map), NULL, NULL, NULL, NULL, NULL }
/** @} */

/** Finds the values of black and of white of a pair of 16 bits, for cameras that do not use all bits: 0 and 4095,
    or 7600 and 7780. What the masks exclude does not count. For 8 bits it is 0
    and 255. */
PARALLAX_API parallax_code parallax_find_value_range(const parallax_pair* pair, int32_t* low, int32_t* high);
/** Stretches values to those that matchers expect: `low` and less becomes 0, `high` and more 255 or, for 16 bits,
    65280, which is 255*256. See parallax/values.h.
    `stretched` has the size, type and channels of the image, and may be the image itself. */
PARALLAX_API parallax_code parallax_stretch(const parallax_image* image, int32_t low, int32_t high,
                                            const parallax_output* stretched);

/** Why a pixel has its disparity, or has none. */
typedef enum parallax_status {
  PARALLAX_MATCHED = 0,      /**< the matcher found it */
  PARALLAX_FILLED = 1,       /**< it had no value and took that of a neighbour */
  PARALLAX_OUT_OF_RANGE = 2, /**< every right pixel of its search range is outside the image or masked */
  PARALLAX_INCONSISTENT = 3, /**< the left-right check rejected it */
  PARALLAX_AMBIGUOUS = 4,    /**< another disparity is almost as good */
  PARALLAX_TEXTURELESS = 5,  /**< too little texture to decide */
  PARALLAX_SPECKLE = 6,      /**< the speckle filter removed its small region */
  PARALLAX_INPUT_MASKED = 7  /**< the mask of the left image excludes it */
} parallax_status;

/* Matchers: choose a method, set parameters, plan, run often. */

/** A method with its parameters and, after parallax_matcher_plan(), all the memory that a match needs. */
typedef struct parallax_matcher parallax_matcher;

/** Creates a matcher with the parameters of a preset (NULL = "default") on the device "auto". The caller
    holds one reference to it. */
PARALLAX_API parallax_code parallax_matcher_create(const char* method, const char* preset,
                                                   parallax_matcher** matcher);
/** Adds a reference. */
PARALLAX_API parallax_code parallax_matcher_retain(parallax_matcher* matcher);
/** Removes a reference; the matcher is destroyed with the last one. NULL is allowed. */
PARALLAX_API void parallax_matcher_release(parallax_matcher* matcher);

/* Setting anything discards the plan. parallax_list_parameters() lists the names of parameters.
   parallax_matcher_plan() checks conditions that involve several parameters. */

/** Sets an integer, a number, or a flag (0 or 1). */
PARALLAX_API parallax_code parallax_matcher_set_int(parallax_matcher* matcher, const char* name,
                                                    int64_t value);
/** Sets a number. */
PARALLAX_API parallax_code parallax_matcher_set_float(parallax_matcher* matcher, const char* name,
                                                      double value);
/** Sets a parameter of any kind from text; "none" removes the value of an optional parameter. */
PARALLAX_API parallax_code parallax_matcher_set_string(parallax_matcher* matcher, const char* name,
                                                       const char* value);
/** Sets all parameters that a JSON object names, or none if one is refused: {"disparities": 64, "preset":
    "fast"}. A preset in it is applied first. */
PARALLAX_API parallax_code parallax_matcher_set_json(parallax_matcher* matcher, const char* json);

/** Gets a parameter as text, which is valid until the next call on this matcher. */
PARALLAX_API parallax_code parallax_matcher_get_string(parallax_matcher* matcher, const char* name,
                                                       const char** value);
/** Gets "method" and all parameters as a JSON object, which is valid until the next call on this matcher. */
PARALLAX_API parallax_code parallax_matcher_get_json(parallax_matcher* matcher, const char** json);

/** Chooses the device: "auto", "reference", "cpu", "cuda", "cuda:N", "opencl", "opencl:P.D". `threads` is
    the number of CPU threads; 0 = one for each core. */
PARALLAX_API parallax_code parallax_matcher_set_device(parallax_matcher* matcher, const char* device,
                                                       int32_t threads);
/** Limits the memory of a plan, host and GPU together; 0 = the memory that the machine has. */
PARALLAX_API parallax_code parallax_matcher_set_memory_limit(parallax_matcher* matcher, uint64_t bytes);
/** Sets a tunable for the device, or unsets it if the value is empty. Planning checks it. Tunables never
    change a result. */
PARALLAX_API parallax_code parallax_matcher_configure(parallax_matcher* matcher, const char* name,
                                                      const char* value);

/** Sets whether the plan has memory for the map of the right image, too: 0 or 1. */
PARALLAX_API parallax_code parallax_matcher_set_both_maps(parallax_matcher* matcher, int32_t both_maps);

/** Plans for images of a size and type (8 or 16 bits): checks everything, then allocates everything. Does
    nothing if the matcher is already planned for them. */
PARALLAX_API parallax_code parallax_matcher_plan(parallax_matcher* matcher, int32_t width, int32_t height,
                                                 parallax_type type);
/** Returns how many bytes a plan would take, without allocating them. */
PARALLAX_API parallax_code parallax_matcher_estimate_memory(parallax_matcher* matcher, int32_t width,
                                                            int32_t height, parallax_type type,
                                                            uint64_t* bytes);
/** Returns how many bytes the plan holds. */
PARALLAX_API parallax_code parallax_matcher_memory(parallax_matcher* matcher, uint64_t* bytes);
/** Returns whether the planned matcher can write a confidence map: 0 or 1. */
PARALLAX_API parallax_code parallax_matcher_has_confidence(parallax_matcher* matcher, int32_t* has);
/** Returns whether the planned matcher can write a map of row offsets: 0 or 1. */
PARALLAX_API parallax_code parallax_matcher_has_row_offsets(parallax_matcher* matcher, int32_t* has);

/** Matches a pair, and, for the map of the right image, the mirrored pair. Allocates nothing. The outputs must
    not overlap the inputs. */
PARALLAX_API parallax_code parallax_matcher_run(parallax_matcher* matcher, const parallax_pair* pair,
                                                const parallax_map* map);
/** Ends the calls on this matcher that have begun in other threads, and those that wait for them, with
    PARALLAX_ERROR_CANCELLED: on reference and cpu within milliseconds. Does not wait for their end. The pixels
    that they were to write are undefined; the matcher can be used again, with the same results as ever. Does
    nothing to calls that begin later: where another thread may be about to begin its call, repeat this until
    that call has ended. What a GPU has begun it completes. Calls that do no work, such as those that set or
    get a parameter, are not ended. */
PARALLAX_API parallax_code parallax_matcher_cancel(parallax_matcher* matcher);
/** Matches a pair in the memory of the GPU for which the matcher is planned; all pointers are addresses
    there. Enqueues the work on a stream of the GPU's primary context (CUstream or cudaStream_t; NULL = its
    default stream) and does not wait. Until the work is done, keep the memory and the matcher, and run the
    matcher on no other stream. */
PARALLAX_API parallax_code parallax_matcher_enqueue(parallax_matcher* matcher, const parallax_pair* pair,
                                                    const parallax_map* map, void* stream);
/** Matches a pair in tiles that fit into the memory limit, for images that are too large to plan for. Needs
    no plan, and can write neither confidences nor row offsets nor the map of the right image. `padding` is the number of pixels of overlap
    around each tile, for belief propagation; 0 = 80. `progress` counts tiles; NULL = none. */
PARALLAX_API parallax_code parallax_matcher_run_in_tiles(parallax_matcher* matcher, const parallax_pair* pair,
                                                         const parallax_map* map, int32_t padding,
                                                         parallax_progress_function progress, void* user);

/* Tiles and strips of a pair, for programs that distribute them over processes or machines. Tiles of the map
   are matched with their margins around them (parallax_matcher_set_tiles(), then plan and run as usual); then
   parallax_matcher_refine_strip() runs the other steps over strips of full rows of the map that the tiles
   make. If the margins are exact, the strips are those of the untiled map, byte for byte. */

/** How much of the image around tiles and strips their match needs, in pixels; it ends where the image ends.
    */
typedef struct parallax_margins {
  size_t struct_size;     /**< size of this struct for the caller */
  int32_t left;           /**< columns to the left of a tile, in both images */
  int32_t right;          /**< columns to its right */
  int32_t top;            /**< rows above it */
  int32_t bottom;         /**< rows below it */
  int32_t alignment;      /**< a tile with its margins begins at multiples of this many columns and rows */
  int32_t exact;          /**< 1 if the tiles equal the untiled map, otherwise 0 */
  int32_t halo;           /**< rows above and below a strip */
  int32_t halo_alignment; /**< a strip with its halo begins at a multiple of this many rows */
} parallax_margins;

/** Initial value of parallax_margins: sets `struct_size`; all else is 0. */
#define PARALLAX_MARGINS_INIT \
  { sizeof(parallax_margins), 0, 0, 0, 0, 0, 0, 0, 0 }

/** Gets the margins for images of this size and type. `padding` as for parallax_matcher_run_in_tiles(). */
PARALLAX_API parallax_code parallax_matcher_margins(parallax_matcher* matcher, int32_t width, int32_t height,
                                                    parallax_type type, int32_t padding,
                                                    parallax_margins* margins);
/** Sets whether the matcher matches tiles, 0 or 1: if so, a match ends with the left-right check. */
PARALLAX_API parallax_code parallax_matcher_set_tiles(parallax_matcher* matcher, int32_t tiles);
/** Runs the steps after the left-right check over a strip with its halo, in place. `left`: the same rows of
    the left image. The rows of the halo do not get their final values. Needs no plan; runs with the matcher's
    parameters on its CPU threads, whatever its device. */
PARALLAX_API parallax_code parallax_matcher_refine_strip(parallax_matcher* matcher,
                                                         const parallax_image* left, const parallax_map* map);
/** Gets how many bytes parallax_matcher_refine_strip() allocates for a strip of this many rows, halo
    included. */
PARALLAX_API parallax_code parallax_matcher_estimate_strip_memory(parallax_matcher* matcher, int32_t width,
                                                                  int32_t rows, uint64_t* bytes);

/** The time that a stage of the last run took. */
typedef struct parallax_stage {
  const char* name;    /**< "census" */
  double milliseconds; /**< elapsed time */
} parallax_stage;

/** Lists the stages of the last parallax_matcher_run(), valid until the next call on this matcher. */
PARALLAX_API parallax_code parallax_matcher_stages(parallax_matcher* matcher, const parallax_stage** stages,
                                                   size_t* count);

/** Returns by how many rows the last parallax_matcher_run() moved the right image, root mean square over its
    corners; 0 where rows were as given, or aligned already (parameter "rows"). */
PARALLAX_API parallax_code parallax_matcher_rows_moved(parallax_matcher* matcher, double* rows);
/** With "rows" "once", the next pair tells anew by how many rows the right image is lower. */
PARALLAX_API parallax_code parallax_matcher_forget_rows(parallax_matcher* matcher);

/** Computes the energy that the method minimises, for any disparity map of a pair. */
PARALLAX_API parallax_code parallax_matcher_energy(parallax_matcher* matcher, const parallax_pair* pair,
                                                   const parallax_image* disparity, double* energy);

/* Pools: many pairs on several devices, or several pairs at once on one GPU. See parallax/matcher_pool.h. */

/** Matches pairs of any size, each on whichever of the pool's devices is free. All functions may be called
    from several threads at once. */
typedef struct parallax_pool parallax_pool;

/** How a pool uses its devices. */
typedef struct parallax_pool_limits {
  size_t struct_size;       /**< size of this struct for the caller */
  int32_t matchers_per_gpu; /**< pairs matched at once on each GPU, 0 to 64; 0 = chosen by the image size */
  int32_t waiting; /**< pairs that may wait, 0 to 1,000,000; 0 = twice as many as are matched at once */
} parallax_pool_limits;

/** Initial value of parallax_pool_limits: the defaults, which a null pointer also means. */
#define PARALLAX_POOL_LIMITS_INIT \
  { sizeof(parallax_pool_limits), 0, 0 }

/** Creates a pool with the method, parameters, threads and tunables that `matcher` has now; its memory limit
    holds for each device. `matcher` needs no plan. `devices`: devices separated by commas; "cuda:all" stands
    for every GPU; NULL = that of `matcher`. The caller holds one reference to the pool. */
PARALLAX_API parallax_code parallax_pool_create(parallax_matcher* matcher, const char* devices,
                                                const parallax_pool_limits* limits, parallax_pool** pool);
/** Adds a reference. */
PARALLAX_API parallax_code parallax_pool_retain(parallax_pool* pool);
/** Removes a reference; with the last one, the pool drops the pairs that wait, cancels those that are being
    matched, and is destroyed. NULL is allowed. */
PARALLAX_API void parallax_pool_release(parallax_pool* pool);

/** Queues a pair, and gets its number, counted from 0. Blocks while too many pairs wait. What `pair` and
    `map` point to must stay alive until the pair has been waited for; the structs themselves need not.
    `matcher`: the method and parameters of this pair; NULL = the pool's. */
PARALLAX_API parallax_code parallax_pool_submit(parallax_pool* pool, const parallax_pair* pair,
                                                const parallax_map* map, parallax_matcher* matcher,
                                                uint64_t* number);

/** A pair that was waited for. The text and the stages are valid until this thread waits for another pair, or
    ends. */
typedef struct parallax_matched {
  size_t struct_size;           /**< size of this struct for the caller */
  uint64_t number;              /**< as parallax_pool_submit() gave it */
  const char* device;           /**< where it was matched: "cuda:0" */
  const parallax_stage* stages; /**< the stages of its match */
  size_t stage_count;           /**< number of `stages` */
} parallax_matched;

/** Initial value of parallax_matched: sets `struct_size`; all else is 0. */
#define PARALLAX_MATCHED_INIT \
  { sizeof(parallax_matched), 0, NULL, NULL, 0 }

/** Waits for a pair; each pair is waited for once. Fails with the error of the pair, whose message begins
    with its number. `matched` may be NULL. */
PARALLAX_API parallax_code parallax_pool_wait(parallax_pool* pool, uint64_t number,
                                              parallax_matched* matched);
/** Waits for any pair. `found` receives 1, or 0 when there is none left to wait for. If the pair could not be
    matched, fails with its error; `found` and `number` are set even then. `matched` may be NULL. */
PARALLAX_API parallax_code parallax_pool_wait_any(parallax_pool* pool, int32_t* found, uint64_t* number,
                                                  parallax_matched* matched);

/** A device that stopped working. Its pairs went to the others. */
typedef struct parallax_lost_device {
  const char* device; /**< "cuda:1" */
  const char* reason; /**< one line */
} parallax_lost_device;

/** Lists the devices that stopped working, valid until this thread calls this function again, or ends. */
PARALLAX_API parallax_code parallax_pool_lost_devices(parallax_pool* pool,
                                                      const parallax_lost_device** devices, size_t* count);
/** Gets how many pairs of this size and type (8 or 16 bits) may be matched at once. */
PARALLAX_API parallax_code parallax_pool_matchers(parallax_pool* pool, int32_t width, int32_t height,
                                                  parallax_type type, int32_t* count);

/* Video: maps that do not flicker. See parallax/temporal.h. */

/** Steadies the maps of one video, frame after frame. Calls of several threads run one after the other. */
typedef struct parallax_temporal_filter parallax_temporal_filter;

/** Creates a filter for frames of this size and type (8 or 16 bits). `frames`: frames over which disparities
    are averaged, 1 to 255; 0 = 20. `threads`: 0 = one for each core. */
PARALLAX_API parallax_code parallax_temporal_filter_create(int32_t width, int32_t height, parallax_type type,
                                                           int32_t frames, int32_t threads,
                                                           parallax_temporal_filter** filter);
/** Destroys a filter. NULL is allowed. */
PARALLAX_API void parallax_temporal_filter_release(parallax_temporal_filter* filter);
/** Steadies the map of the next frame, in place. Only disparities change. */
PARALLAX_API parallax_code parallax_temporal_filter_run(parallax_temporal_filter* filter,
                                                        const parallax_pair* pair, const parallax_map* map);
/** Forgets all frames: the next one is the first. */
PARALLAX_API parallax_code parallax_temporal_filter_clear(parallax_temporal_filter* filter);
/** Gets whether the last frame was predicted from the one before it, 0 or 1; if not, it was the first, or one
    after a cut. */
PARALLAX_API parallax_code parallax_temporal_filter_was_predicted(parallax_temporal_filter* filter,
                                                                  int32_t* predicted);
/** Gets how many bytes parallax_temporal_filter_save() writes. */
PARALLAX_API parallax_code parallax_temporal_filter_state_size(parallax_temporal_filter* filter,
                                                               size_t* size);
/** Writes what the filter remembers. `size` is that of parallax_temporal_filter_state_size(). */
PARALLAX_API parallax_code parallax_temporal_filter_save(parallax_temporal_filter* filter, void* state,
                                                         size_t size);
/** Goes on from a state of a filter for the same frames, of the same release. Fails, and changes nothing, for
    any other. */
PARALLAX_API parallax_code parallax_temporal_filter_restore(parallax_temporal_filter* filter,
                                                            const void* state, size_t size);

/* Using disparity maps. */

/** Errors over the pixels whose truth is known. See parallax/evaluate.h. */
typedef struct parallax_metrics {
  size_t struct_size;  /**< size of this struct for the caller */
  uint64_t count;      /**< evaluated pixels */
  double bad05;        /**< share of pixels with an error above 0.5 px or without a value; 0 to 1 */
  double bad1;         /**< the same above 1 px */
  double bad2;         /**< the same above 2 px */
  double bad4;         /**< the same above 4 px */
  double average;      /**< mean error over pixels with a value, in px */
  double rms;          /**< root mean square of these errors */
  double a50;          /**< median of these errors */
  double a90;          /**< 0.9 quantile of these errors */
  double a95;          /**< 0.95 quantile of these errors */
  double a99;          /**< 0.99 quantile of these errors */
  double d1;           /**< share of KITTI's outliers: error above 3 px and 5 % of the truth, or no value */
  double coverage;     /**< share of pixels with a value */
  uint64_t mismatches; /**< pixels whose rounded disparity is wrong */
} parallax_metrics;

/** Initial value of parallax_metrics: sets `struct_size`; all else is 0. */
#define PARALLAX_METRICS_INIT \
  { sizeof(parallax_metrics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Compares a disparity map with the truth. Both are floats; a value that is not finite means none. `mask`:
    8 bits, 255 = evaluate; NULL = everywhere. */
PARALLAX_API parallax_code parallax_evaluate(const parallax_image* disparity, const parallax_image* truth,
                                             const parallax_image* mask, parallax_metrics* metrics);

/** A rectified rig. Lengths are in pixels, except for the baseline, whose unit is also that of depths. */
typedef struct parallax_calibration {
  size_t struct_size;  /**< size of this struct for the caller */
  double focal;        /**< focal length of the left camera */
  double centre_x;     /**< column of the left camera's principal point */
  double centre_y;     /**< row of both cameras' principal points */
  double doffs;        /**< principal point of the right camera minus that of the left one, in x */
  double baseline;     /**< distance between the cameras */
  int32_t width;       /**< columns of the images; 0 = unknown */
  int32_t height;      /**< rows of the images; 0 = unknown */
  int32_t disparities; /**< a bound on the disparities; 0 = unknown */
  /** Metres in the unit of the baseline: 0.001 for millimetres; 0 = unknown, taken as metres. */
  double metres_per_unit;
} parallax_calibration;

/** Initial value of parallax_calibration: sets `struct_size`; all else is 0. */
#define PARALLAX_CALIBRATION_INIT \
  { sizeof(parallax_calibration), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Reads Middlebury's calib.txt, whose baseline is in millimetres. */
PARALLAX_API parallax_code parallax_read_calibration(const char* path, parallax_calibration* calibration);

/** Converts the baseline to metres, so that depths, points and meshes are in metres. */
PARALLAX_API parallax_code parallax_calibration_in_metres(parallax_calibration* calibration);

/** Writes the depth of every pixel as floats, 0 = none: focal · baseline / (disparity + doffs). */
PARALLAX_API parallax_code parallax_depth(const parallax_calibration* calibration,
                                          const parallax_image* disparity, const parallax_output* depth);

/** Writes the standard deviation of every depth as floats, for disparities with this standard deviation in
    pixels: depth² · disparity_uncertainty / (focal · baseline); +infinity where there is no depth. */
PARALLAX_API parallax_code parallax_depth_uncertainty(const parallax_calibration* calibration,
                                                      const parallax_image* disparity,
                                                      double disparity_uncertainty,
                                                      const parallax_output* uncertainty);

/** Writes the normal of the surface at every pixel that has a depth, a vector of length 1 towards the camera,
    as three floats: right, down, forward; 0 for the others. `normals` has three channels. */
PARALLAX_API parallax_code parallax_normals(const parallax_calibration* calibration,
                                            const parallax_image* disparity, const parallax_output* normals);

/** A coloured point, relative to the left camera, in the unit of the baseline. */
typedef struct parallax_point {
  float x;          /**< to the right */
  float y;          /**< down */
  float z;          /**< forward */
  uint8_t red;      /**< 0 to 255 */
  uint8_t green;    /**< 0 to 255 */
  uint8_t blue;     /**< 0 to 255 */
  uint8_t reserved; /**< 0; ignored when points are read */
} parallax_point;

/** Writes a point for each pixel that has a depth, row by row, with the colour of the left image.
    `points` must have room for all pixels; `count` receives the number of points written. */
PARALLAX_API parallax_code parallax_points(const parallax_calibration* calibration,
                                           const parallax_image* disparity, const parallax_image* left,
                                           parallax_point* points, size_t* count);

/** Writes the surface through the points of neighbouring pixels. `greatest_step` (usually 1): the mesh is cut
    where disparities differ by more pixels. `vertices` must have room for all pixels, `triangles`, three
    indices of vertices each, counter-clockwise for the camera, for six indices a pixel. The counts receive
    the numbers of vertices and of triangles. */
PARALLAX_API parallax_code parallax_mesh(const parallax_calibration* calibration,
                                         const parallax_image* disparity, const parallax_image* left,
                                         double greatest_step, parallax_point* vertices, size_t* vertex_count,
                                         uint32_t* triangles, size_t* triangle_count);

/** Colours a disparity map with the Turbo colour map: `low` and below is blue, `high` and above is red,
    no disparity is black. `colours` has 8 bits and 3 channels. */
PARALLAX_API parallax_code parallax_colour(const parallax_image* disparity, double low, double high,
                                           const parallax_output* colours);

/** Reads a one-channel PFM. The rows have no gaps between them. Release `pixels` with parallax_free(). */
PARALLAX_API parallax_code parallax_read_pfm(const char* path, float** pixels, int32_t* width,
                                             int32_t* height);
/** Releases memory that a function of this interface allocated for the caller. NULL is allowed. */
PARALLAX_API void parallax_free(void* memory);
/** Writes a one-channel float image as a PFM, completely or not at all. */
PARALLAX_API parallax_code parallax_write_pfm(const char* path, const parallax_image* image);
/** Reads a .flo file of the Middlebury benchmark: for each pixel, its motion to the right and downwards, or
    +infinity twice where there is none. The rows have no gaps between them. Release `vectors` with
    parallax_free(). */
PARALLAX_API parallax_code parallax_read_flo(const char* path, float** vectors, int32_t* width,
                                             int32_t* height);
/** Writes motions as a .flo file, completely or not at all: `u` to the right and `v` downwards, both floats;
    a value that is not finite means none. */
PARALLAX_API parallax_code parallax_write_flo(const char* path, const parallax_image* u,
                                              const parallax_image* v);
/** Writes points as a binary PLY, completely or not at all. */
PARALLAX_API parallax_code parallax_write_ply(const char* path, const parallax_point* points, size_t count);
/** Writes points as a binary PCD for the Point Cloud Library, completely or not at all. */
PARALLAX_API parallax_code parallax_write_pcd(const char* path, const parallax_point* points, size_t count);
/** Writes a mesh as a binary PLY with faces, completely or not at all. */
PARALLAX_API parallax_code parallax_write_mesh(const char* path, const parallax_point* vertices,
                                               size_t vertex_count, const uint32_t* triangles,
                                               size_t triangle_count);

/* Rigs: two calibrated cameras before rectification, and matching of the images that they take. */

/** Two calibrated cameras. It never changes. */
typedef struct parallax_rig parallax_rig;

/** Creates a rig from JSON as parallax_rig_json() returns it: see rig_from_json() in parallax/rig.h. `name`
    appears in errors, such as the path of the file; NULL = "rig". */
PARALLAX_API parallax_code parallax_rig_create(const char* json, const char* name, parallax_rig** rig);
/** Gets the rig as JSON, which is valid as long as the rig. */
PARALLAX_API parallax_code parallax_rig_json(const parallax_rig* rig, const char** json);
/** Destroys a rig. What was made from it does not need it. NULL is allowed. */
PARALLAX_API void parallax_rig_release(parallax_rig* rig);

/** How a value between pixels is computed. */
typedef enum parallax_interpolation {
  PARALLAX_BILINEAR = 0, /**< from 2×2 pixels */
  PARALLAX_LANCZOS3 = 1  /**< from 6×6 pixels: sharper, and slower */
} parallax_interpolation;

/** What rectified images show. */
typedef struct parallax_rectify_parameters {
  size_t struct_size; /**< size of this struct for the caller */
  /** 0: the widest view in which both cameras saw every pixel; 1: the narrowest view that shows every pixel
      of both cameras that is within 76° of the new axis; between: in proportion. */
  double alpha;
  double zoom; /**< multiplies the focal length; above 0 */
  /** 0: each image has its own principal point, which suits cameras that converge. Not 0: disparity 0 is
      infinitely far away. */
  int32_t same_centres;
  int32_t width;  /**< columns of the rectified images; width and height 0 = as the left camera's images */
  int32_t height; /**< rows of the rectified images */
  int32_t interpolation; /**< of the camera's pixels: a parallax_interpolation */
} parallax_rectify_parameters;

/** Initial value of parallax_rectify_parameters: the defaults, which a null pointer also means. */
#define PARALLAX_RECTIFY_PARAMETERS_INIT \
  { sizeof(parallax_rectify_parameters), 0, 1, 1, 0, 0, PARALLAX_BILINEAR }

/** Two pinhole cameras of equal focal length, side by side. Lengths are in pixels, except for the baseline.
    */
typedef struct parallax_rectification {
  size_t struct_size;       /**< size of this struct for the caller */
  double rotation_left[9];  /**< from the left camera's axes to the rectified ones, row by row */
  double rotation_right[9]; /**< the same for the right camera */
  double focal;             /**< focal length of both */
  double centre_left_x;     /**< column of the left principal point */
  double centre_right_x;    /**< column of the right principal point */
  double centre_y;          /**< row of both principal points */
  double baseline;          /**< distance between the cameras, in the rig's unit */
  int32_t width;            /**< columns of both rectified images */
  int32_t height;           /**< rows of both rectified images */
  /** By how many quarter turns clockwise both images are turned against those of the left camera: 0 for
      cameras side by side, 1 or 3 where the right one is above or below the left one, 2 where the left one is
      mounted upside down. */
  int32_t quarter_turns;
} parallax_rectification;

/** Initial value of parallax_rectification: sets `struct_size`; all else is 0. */
#define PARALLAX_RECTIFICATION_INIT \
  { sizeof(parallax_rectification), {0}, {0}, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Rectifies the cameras of a rig. What the functions below make of the same rig and parameters shows this.
    `parameters`: NULL = the defaults. */
PARALLAX_API parallax_code parallax_rectify(const parallax_rig* rig,
                                            const parallax_rectify_parameters* parameters,
                                            parallax_rectification* rectification);
/** Writes the calibration of rectified images, for depths and points. */
PARALLAX_API parallax_code parallax_rectification_calibration(const parallax_rectification* rectification,
                                                              parallax_calibration* calibration);

/** Turns images of a rig's cameras into a rectified pair, with all the memory it needs. */
typedef struct parallax_rectifier parallax_rectifier;

/** Creates a rectifier for images of this type (8 or 16 bits). `device` and `threads`: as in
    parallax_matcher_set_device(). */
PARALLAX_API parallax_code parallax_rectifier_create(const parallax_rig* rig,
                                                     const parallax_rectify_parameters* parameters,
                                                     const char* device, int32_t threads, parallax_type type,
                                                     parallax_rectifier** rectifier);
/** Destroys a rectifier. NULL is allowed. */
PARALLAX_API void parallax_rectifier_release(parallax_rectifier* rectifier);

/** The images that a rectifier writes. All have the rectified size. */
typedef struct parallax_rectified_pair {
  size_t struct_size;           /**< size of this struct for the caller */
  const parallax_output* left;  /**< type and channels of the camera's image; 0 where it saw nothing */
  const parallax_output* right; /**< likewise */
  /** 8 bits: 0 where the camera saw nothing, 255 elsewhere. They are the same in every run. NULL = not
      wanted. */
  const parallax_output* left_mask;
  const parallax_output* right_mask; /**< likewise for the right camera */
} parallax_rectified_pair;

/** Initial value of parallax_rectified_pair: sets `struct_size`; all else is 0. */
#define PARALLAX_RECTIFIED_PAIR_INIT \
  { sizeof(parallax_rectified_pair), NULL, NULL, NULL, NULL }

/** Rectifies the images of the left and the right camera. Allocates nothing. The outputs must not overlap the
    images. Calls from several threads run one after the other. */
PARALLAX_API parallax_code parallax_rectifier_run(parallax_rectifier* rectifier, const parallax_image* left,
                                                  const parallax_image* right,
                                                  const parallax_rectified_pair* to);

/** A rectifier and a matcher on one device, planned together. */
typedef struct parallax_rectified_matcher parallax_rectified_matcher;

/** Creates and plans one for images of this type (8 or 16 bits), with the method, parameters, device and
    limits that `matcher` has now; a plan of `matcher` is not needed. The method must not take the caller's
    costs. */
PARALLAX_API parallax_code parallax_rectified_matcher_create(parallax_matcher* matcher,
                                                             const parallax_rig* rig,
                                                             const parallax_rectify_parameters* parameters,
                                                             parallax_type type,
                                                             parallax_rectified_matcher** rectified);
/** Destroys a rectified matcher. NULL is allowed. */
PARALLAX_API void parallax_rectified_matcher_release(parallax_rectified_matcher* rectified);
/** Rectifies and matches the images of the left and the right camera. The maps have the rectified size;
    pixels that the left camera did not see have the status PARALLAX_INPUT_MASKED. Allocates nothing. The
    outputs must not overlap the images. Calls from several threads run one after the other. */
PARALLAX_API parallax_code parallax_rectified_matcher_run(parallax_rectified_matcher* rectified,
                                                          const parallax_image* left,
                                                          const parallax_image* right,
                                                          const parallax_map* map);
/** As parallax_matcher_cancel(). */
PARALLAX_API parallax_code parallax_rectified_matcher_cancel(parallax_rectified_matcher* rectified);
/** The same in the memory of the GPU for which this is planned, as parallax_matcher_enqueue(). */
PARALLAX_API parallax_code parallax_rectified_matcher_enqueue(parallax_rectified_matcher* rectified,
                                                              const parallax_image* left,
                                                              const parallax_image* right,
                                                              const parallax_map* map, void* stream);
/** Returns how many bytes the plan holds. */
PARALLAX_API parallax_code parallax_rectified_matcher_memory(parallax_rectified_matcher* rectified,
                                                             uint64_t* bytes);
/** Returns whether a confidence map can be written: 0 or 1. */
PARALLAX_API parallax_code parallax_rectified_matcher_has_confidence(parallax_rectified_matcher* rectified,
                                                                     int32_t* has);
/** Returns whether a map of row offsets can be written: 0 or 1. */
PARALLAX_API parallax_code parallax_rectified_matcher_has_row_offsets(parallax_rectified_matcher* rectified,
                                                                      int32_t* has);
/** Lists the stages of the last parallax_rectified_matcher_run(), valid until the next call on this matcher.
    */
PARALLAX_API parallax_code parallax_rectified_matcher_stages(parallax_rectified_matcher* rectified,
                                                             const parallax_stage** stages, size_t* count);

/* Is a pair fit to be matched? See parallax/check.h and docs/howto/check.md. */

/** What to search, and what to accept. */
typedef struct parallax_check_parameters {
  size_t struct_size;    /**< size of this struct for the caller */
  double search_rows;    /**< matches may lie this share of the height above or below, 0.001 to 0.5 */
  double search_columns; /**< largest disparity of either sign as a share of the width, 0.01 to 1 */
  double max_rows_off;   /**< largest `rows_off_95` of a pair that is fit to be matched, 0.01 to 100 pixels */
  int32_t threads;       /**< number of threads; 0 = one for each core. The report does not depend on them */
} parallax_check_parameters;

/** Initial value of parallax_check_parameters: the defaults, which a null pointer also means. */
#define PARALLAX_CHECK_PARAMETERS_INIT \
  { sizeof(parallax_check_parameters), 0.05, 0.5, 0.5, 0 }

/** What a check concludes. */
typedef enum parallax_verdict {
  PARALLAX_FIT = 0,                /**< rows line up, and most disparities are positive */
  PARALLAX_ROWS_OFF = 1,           /**< rows differ by more than `max_rows_off` */
  PARALLAX_EXCHANGED = 2,          /**< left and right are exchanged */
  PARALLAX_MIRRORED = 3,           /**< one picture is mirrored left to right */
  PARALLAX_UPSIDE_DOWN = 4,        /**< one picture is mirrored top to bottom */
  PARALLAX_TURNED = 5,             /**< one picture is turned by 180° */
  PARALLAX_IDENTICAL = 6,          /**< both pictures are the same, or taken from one place */
  PARALLAX_TOO_LITTLE_TEXTURE = 7, /**< too few corners to say anything */
  PARALLAX_UNRELATED = 8           /**< the corners of the pictures do not match */
} parallax_verdict;

/** Which picture a fault is in. */
typedef enum parallax_side {
  PARALLAX_NEITHER = 0, /**< no fault, or it is not known which picture has it */
  PARALLAX_LEFT = 1,    /**< the left picture */
  PARALLAX_RIGHT = 2    /**< the right picture */
} parallax_side;

/** A coefficient of the model of row differences. */
typedef struct parallax_estimate {
  double value;       /**< in pixels */
  double uncertainty; /**< its standard deviation, in pixels */
  int32_t held;       /**< whether the points determine it: 0 or 1 */
} parallax_estimate;

/** How values of the right picture follow from those of the left one: right = gain · left + offset. */
typedef struct parallax_exposure {
  double gain;   /**< 1 = the same */
  double offset; /**< in gray levels of 255 */
} parallax_exposure;

/** A point that both pictures show. Positions are in pixels; the centre of the first pixel is (0, 0). */
typedef struct parallax_checked_point {
  float left_x;      /**< column in the left picture */
  float left_y;      /**< row in the left picture */
  float right_x;     /**< column in the right picture, to a fraction of a pixel */
  float right_y;     /**< row in the right picture, likewise */
  float uncertainty; /**< standard deviation of right_y */
  float residual;    /**< right_y − left_y minus the model's */
} parallax_checked_point;

/** The report of a check; lengths are in pixels. The library makes it and all that it points to, and never
    changes it. */
typedef struct parallax_pair_report {
  size_t struct_size;   /**< size of this struct for the library */
  int32_t verdict;      /**< the conclusion, a parallax_verdict: only PARALLAX_FIT can be matched as it is */
  int32_t side;         /**< the picture that is mirrored, turned or lacks texture: a parallax_side */
  const char* sentence; /**< the verdict for people: what is wrong and what to do */
  const char* const* remarks; /**< further sentences about what impairs a match */
  size_t remark_count;        /**< number of `remarks` */
  const char* json; /**< all but the points as a JSON object, as `parallax check --json` prints it */
  /** The points that agree with the model, row by row of the left picture. If a picture is mirrored or
      turned, they are those of the pair in which that is undone: in `side`, or, if not known, in the right
      picture. */
  const parallax_checked_point* points;
  size_t point_count;    /**< number of `points` */
  int32_t width;         /**< columns of the pictures */
  int32_t height;        /**< rows of the pictures */
  int32_t left_corners;  /**< found in the left picture */
  int32_t right_corners; /**< found in the right picture */
  int32_t matched;       /**< corners matched both ways, before the fit */
  /** Not 0: min_disparity and disparities are known, and no picture has to be mirrored or turned first. */
  int32_t has_range;
  int32_t min_disparity;      /**< recommended for the parameter of this name */
  int32_t disparities;        /**< recommended, with a margin: a multiple of 8; 0 = not known */
  int32_t range_points;       /**< points that the range rests on */
  int32_t rows_points;        /**< points that the rows off rest on */
  double rows_off;            /**< median distance of their rows */
  double rows_off_95;         /**< 95 % quantile of it */
  double rows_off_model;      /**< 95 % quantile of the model's rows off at these points */
  parallax_estimate shift;    /**< at the centre; RowModel in parallax/check.h has the equation */
  parallax_estimate rotation; /**< of the right picture, clockwise as one sees it */
  parallax_estimate scale;    /**< of the right picture: ratio of the focal lengths */
  parallax_estimate yaw;      /**< keystone left to right */
  parallax_estimate pitch;    /**< keystone top to bottom */
  parallax_estimate shear;    /**< with disparity: the baseline is not parallel to the rows */
  parallax_estimate forward;  /**< with disparity and row: one camera stands before the other */
  parallax_estimate
      distortion;           /**< radial distortion left over in the right picture less that in the left one */
  double rotation_degrees;  /**< the angle of `rotation` */
  double scale_ratio;       /**< the ratio of the right picture's size to the left one's, by `scale` */
  double shear_degrees;     /**< the angle between the rows and the baseline, by `shear` */
  double centre_x;          /**< column of the model's centre */
  double centre_y;          /**< row of the model's centre */
  double half_width;        /**< half the width of the image, the unit of the model's positions */
  double centre_disparity;  /**< median disparity of the points */
  double residual;          /**< median distance of the points from the model */
  double residual_95;       /**< 95 % quantile of it */
  double lowest;            /**< lowest disparity that three points or more support */
  double highest;           /**< highest disparity that three points or more support */
  double quantiles[5];      /**< of the disparities, at 1, 5, 50, 95 and 99 % */
  const int32_t* histogram; /**< points in each step of histogram_step from histogram_start on */
  size_t histogram_count;   /**< number of steps */
  double histogram_start;   /**< lower end of the first step */
  double histogram_step;    /**< size of a step */
  parallax_exposure exposure; /**< of gray values */
  parallax_exposure red;      /**< of red; as `exposure` for gray pictures */
  parallax_exposure green;    /**< of green, likewise */
  parallax_exposure blue;     /**< of blue, likewise */
  double sharpness;           /**< of the right picture over that of the left one; 1 = the same */
  double seen;                /**< share of the picture that shows the range: 0 to 1 */
  int32_t sure;               /**< not 0: `seen` is enough to be sure of the range */
  const char* range_sentence; /**< how sure the range is, for people; empty without a range */
} parallax_pair_report;

/** Checks a pair of 8 or 16 bits. Masks are obeyed; costs are ignored. A pair that cannot be matched is no
    error. `parameters`: NULL = the defaults. Release the report with parallax_pair_report_release(). */
PARALLAX_API parallax_code parallax_check_pair(const parallax_pair* pair,
                                               const parallax_check_parameters* parameters,
                                               const parallax_pair_report** report);
/** Destroys a report. NULL is allowed. */
PARALLAX_API void parallax_pair_report_release(const parallax_pair_report* report);

/** Renders a pair with exact truth: `scene` is "dots", "planes" or "layers"; every disparity is from 0 to
    `disparities` - 1. The images have 8 bits and 3 channels, the truth is float; all have the same size. */
PARALLAX_API parallax_code parallax_synthesize(const char* scene, int32_t disparities, uint64_t seed,
                                               const parallax_output* left, const parallax_output* right,
                                               const parallax_output* truth);

#ifdef __cplusplus
}
#endif
#endif
