// SPDX-License-Identifier: Apache-2.0
// Rectifies a pair by the equations of remap.h.
//
// Specialised by SAMPLE (uchar, ushort), KEPT_BITS (of a column's sum), LARGEST (value), LANCZOS (0 or 1) and
// PIXELS (of a work item).

#define FRACTION_BITS 6
#define STEPS (1 << FRACTION_BITS)
#define BLOCK_COLUMNS 8
#define UNSEEN 0xFFFF
#define TAP_BITS 12
#define TAPS 6
#define TAP_STRIDE 8

typedef struct {
  const global SAMPLE* samples;  // samples of one channel
  int channels, width, height;
} Channel;

static int sample(const Channel* image, int x, int y) {
  return image->samples[((long)y * image->width + x) * image->channels];
}

static int bilinear(const Channel* image, int x, int y) {
  const int column = x >> FRACTION_BITS, row = y >> FRACTION_BITS, fx = x % STEPS, fy = y % STEPS;
  const int right = min(column + 1, image->width - 1), lower = min(row + 1, image->height - 1);
  const int above = (STEPS - fx) * sample(image, column, row) + fx * sample(image, right, row);
  const int below = (STEPS - fx) * sample(image, column, lower) + fx * sample(image, right, lower);
  return (above + (((below - above) * fy + STEPS / 2) >> FRACTION_BITS) + STEPS / 2) >> FRACTION_BITS;
}

static int lanczos(const Channel* image, const global short* table, int x, int y) {
  const int dropped = TAP_BITS - KEPT_BITS, last = TAP_BITS + KEPT_BITS;
  const int column = (x >> FRACTION_BITS) - 2, row = (y >> FRACTION_BITS) - 2;
  const global short *across = table + x % STEPS * TAP_STRIDE, *down = table + y % STEPS * TAP_STRIDE;
  int value = 1 << (last - 1);
  for (int i = 0; i < TAPS; ++i) {
    const int u = min(column + i, image->width - 1);
    int sum = 1 << (dropped - 1);
    for (int j = 0; j < TAPS; ++j) sum += down[j] * sample(image, u, min(row + j, image->height - 1));
    value += across[i] * (sum >> dropped);
  }
  return clamp(value >> last, 0, LARGEST);
}

// One work item for PIXELS columns; global size y = rows, z = sides. `memory` has the maps and the camera's
// images, `target` receives the rectified ones.
kernel void remap(global uchar* memory, global uchar* target, OpenclRemap pair) {
  const int first = (int)get_global_id(0) * PIXELS, y = get_global_id(1), side = get_global_id(2);
  if (first >= pair.width) return;
  const long row = (long)y * pair.stride;
  const global ushort* columns = (const global ushort*)(memory + pair.x[side]) + row;
  const global ushort* rows = (const global ushort*)(memory + pair.y[side]) + row;
  const global short* blocks = (const global short*)(memory + pair.blocks[side]) + row / BLOCK_COLUMNS * 2;
  const int channels = pair.channels[side], end = min(first + PIXELS, pair.width);
  Channel image = {(const global SAMPLE*)(memory + pair.from[side]), channels, pair.camera_width[side],
                   pair.camera_height[side]};
  for (int channel = 0; channel < channels; ++channel, ++image.samples) {
    global SAMPLE* to = (global SAMPLE*)(target + pair.to[side]) + (long)y * pair.width * channels + channel;
    for (int x = first; x < end; ++x) {
      const global short* block = blocks + x / BLOCK_COLUMNS * 2;
      const int u = block[0] * STEPS + columns[x], v = block[1] * STEPS + rows[x];
      int value = 0;
      if (columns[x] != UNSEEN)
#if LANCZOS
        value = lanczos(&image, (const global short*)(memory + pair.taps), u, v);
#else
        value = bilinear(&image, u, v);
#endif
      to[x * channels] = (SAMPLE)value;
    }
  }
  if (pair.mask[side] < 0) return;
  global uchar* mask = target + pair.mask[side] + (long)y * pair.width;
  for (int x = first; x < end; ++x) mask[x] = columns[x] == UNSEEN ? 0 : 255;
}
