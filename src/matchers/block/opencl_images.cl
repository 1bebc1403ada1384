// SPDX-License-Identifier: Apache-2.0
// Block matching on OpenCL: makes the filtered, extended images that are compared from the caller's images.
//
// Specialised by GRAY and VALUE (the types of a gray and of a filtered pixel), CONVERT_VALUES (to vectors of
// the latter), X_SOBEL (the filter), RESPONSES (whether the left image's are wanted separately).

// Columns that one work item filters as a vector.
#define LANES 16

static void clear_keys(global uchar* memory, const OpenclImages* images, int side, int x, long y) {
  const long at = y * images->key_stride + x;
  if (images->keys[side] >= 0) ((global uint*)(memory + images->keys[side]))[at] = UINT_MAX;
  if (side == 0 && images->rivals >= 0) ((global uint*)(memory + images->rivals))[at] = UINT_MAX;
}

// One work item per pixel of both images. Reads each of the caller's values once.
kernel void take(global uchar* memory, Pair pair, OpenclImages images) {
  const int x = get_global_id(0), side = get_global_id(2);
  const long y = get_global_id(1);
  if (x >= images.width) return;
  const int channels = pair.channels[side];
  const long pixel = y * images.width + x;
  const global GRAY* from = (const global GRAY*)(memory + pair.image[side]) + pixel * channels;
  ((global GRAY*)(memory + images.gray[side]))[y * images.gray_stride + x] =
      channels == 1 ? from[0] : (GRAY)((9797u * from[0] + 19234u * from[1] + 3737u * from[2]) >> 15);
  memory[images.validity[side] + y * images.validity_stride + x] =
      pair.mask[side] < 0 || memory[pair.mask[side] + pixel] != 0;
  clear_keys(memory, &images, side, x, y);
}

// A gray image extended without limit by repeating its border pixels.
typedef struct {
  const global GRAY *above, *here, *below;  // rows
  int width;
} Extended;

static Extended rows_at(const global uchar* memory, const OpenclImages* images, int side, int y) {
  const global GRAY* first = (const global GRAY*)(memory + images->gray[side]);
  const int last = images->height - 1;
  const int middle = clamp(y, 0, last);
  const Extended rows = {first + max(middle - 1, 0) * images->gray_stride,
                         first + middle * images->gray_stride,
                         first + min(middle + 1, last) * images->gray_stride, images->width};
  return rows;
}

// The vertically smoothed value; the Sobel filter subtracts two of them.
static int smoothed(const Extended* rows, int x) {
  const int u = clamp(x, 0, rows->width - 1);
  return rows->above[u] + 2 * rows->here[u] + rows->below[u];
}

static int16 smoothed_inside(const Extended* rows, int x) {
  return convert_int16(vload16(0, rows->above + x)) + 2 * convert_int16(vload16(0, rows->here + x)) +
         convert_int16(vload16(0, rows->below + x));
}

// Slopes of 16-bit images in 8-bit gray levels are rounded.
#define LEVELS(slope) (sizeof(GRAY) == 1 ? (slope) : ((slope) + 128) >> 8)

// Horizontal Sobel responses, clipped to ±cap, plus cap. The response at a repeated border pixel is the
// response at the border.
static void store_responses(const Extended* rows, int x, int cap, global VALUE* to) {
  if (x > 0 && x + LANES < rows->width) {
    const int16 slope = smoothed_inside(rows, x + 1) - smoothed_inside(rows, x - 1);
    vstore16(CONVERT_VALUES(clamp(LEVELS(slope), -cap, cap) + cap), 0, to);
    return;
  }
  for (int i = 0; i < LANES; ++i) {
    const int u = clamp(x + i, 0, rows->width - 1);
    to[i] = (VALUE)(clamp(LEVELS(smoothed(rows, u + 1) - smoothed(rows, u - 1)), -cap, cap) + cap);
  }
}

static void store_gray(const Extended* rows, int x, global VALUE* to) {
  if (x >= 0 && x + LANES <= rows->width) {
    vstore16(CONVERT_VALUES(vload16(0, rows->here + x)), 0, to);
    return;
  }
  for (int i = 0; i < LANES; ++i) to[i] = (VALUE)rows->here[clamp(x + i, 0, rows->width - 1)];
}

// One work item per LANES columns of both images, including the extension.
kernel void filter(global uchar* memory, OpenclImages images) {
  const int column = LANES * get_global_id(0), side = get_global_id(2);
  if (column >= images.stride) return;
  const int x = column - images.before, y = (int)get_global_id(1) - images.radius;
  const Extended rows = rows_at(memory, &images, side, y);
  const long at = y * images.stride + x;
  global VALUE* to = (global VALUE*)(memory + images.filtered[side]) + at;
  if (X_SOBEL)
    store_responses(&rows, x, images.cap, to);
  else
    store_gray(&rows, x, to);
  if (RESPONSES && side == 0)
    store_responses(&rows, x, images.cap, (global VALUE*)(memory + images.responses) + at);
}
