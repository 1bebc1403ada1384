/* SPDX-License-Identifier: Apache-2.0 */
/* Matches a synthetic pair through the C interface and compares the map with its exact truth. */
#include <parallax/parallax_c.h>
#include <stdio.h>
#include <stdlib.h>

enum { width = 320, height = 240, disparities = 32 };

static unsigned char left[height][width][3], right[height][width][3], status[height][width];
static float truth[height][width], disparity[height][width];

static void check(parallax_code code) {
  if (code == PARALLAX_OK) return;
  fprintf(stderr, "match: %s\n", parallax_error_message());
  exit(1);
}

static parallax_output output(void* data, parallax_type type, int channels) {
  parallax_output view = PARALLAX_OUTPUT_INIT;
  view.data = data;
  view.width = width;
  view.height = height;
  view.stride_bytes = (int64_t)width * channels * (type / 8);
  view.type = type;
  view.channels = channels;
  return view;
}

static parallax_image input(const void* data, parallax_type type, int channels) {
  parallax_image view = PARALLAX_IMAGE_INIT;
  view.data = data;
  view.width = width;
  view.height = height;
  view.stride_bytes = (int64_t)width * channels * (type / 8);
  view.type = type;
  view.channels = channels;
  return view;
}

static void make_pair(void) {
  const parallax_output to_left = output(left, PARALLAX_UINT8, 3), to_right = output(right, PARALLAX_UINT8, 3);
  const parallax_output to_truth = output(truth, PARALLAX_FLOAT32, 1);
  check(parallax_synthesize("layers", disparities, 1, &to_left, &to_right, &to_truth));
}

static void match(void) {
  const parallax_image from_left = input(left, PARALLAX_UINT8, 3), from_right = input(right, PARALLAX_UINT8, 3);
  const parallax_output to_disparity = output(disparity, PARALLAX_FLOAT32, 1);
  const parallax_output to_status = output(status, PARALLAX_UINT8, 1);
  parallax_pair pair = PARALLAX_PAIR_INIT;
  parallax_map map = PARALLAX_MAP_INIT;
  parallax_matcher* matcher = NULL;
  pair.left = &from_left;
  pair.right = &from_right;
  map.disparity = &to_disparity;
  map.status = &to_status;
  check(parallax_matcher_create("census", NULL, &matcher));
  check(parallax_matcher_set_int(matcher, "disparities", disparities));
  check(parallax_matcher_plan(matcher, width, height, PARALLAX_UINT8));
  check(parallax_matcher_run(matcher, &pair, &map));
  parallax_matcher_release(matcher);
}

int main(void) {
  const parallax_image found = input(disparity, PARALLAX_FLOAT32, 1), expected = input(truth, PARALLAX_FLOAT32, 1);
  parallax_metrics metrics = PARALLAX_METRICS_INIT;
  make_pair();
  match();
  check(parallax_evaluate(&found, &expected, NULL, &metrics));
  printf("Parallax %s: %.1f %% of the pixels are off by more than a pixel\n", parallax_version(), 100 * metrics.bad1);
  return metrics.bad1 < 0.1 ? 0 : 1;
}
