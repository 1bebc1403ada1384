// SPDX-License-Identifier: Apache-2.0
// The distribution of levels that consider all labels over work items.
//
// A work item has PIXELS neighbours of one colour in a row, and a share of the labels: PER_SHARE of them. On
// a GPU, SHARES work items have all labels of GROUP_WORDS times PIXELS pixels, and keep them in registers; on
// a processor, a work item has all labels.
//
// Specialised by SHARES, PER_SHARE, GROUP_WORDS, and by the macros of opencl_values.cl.

#define GROUP __attribute__((reqd_work_group_size(SHARES, GROUP_WORDS, 1)))
#if PROCESSOR
#define EACH
#define FOR_LABELS(k, place) for (int k = 0; k < (place)->labels; ++k)
#define FOR_LABELS_DOWN(k, place) for (int k = (place)->labels - 1; k >= 0; --k)
#else
#define EACH UNROLLED
#define FOR_LABELS(k, place) EACH for (int k = 0; k < PER_SHARE; ++k)
#define FOR_LABELS_DOWN(k, place) EACH for (int k = PER_SHARE - 1; k >= 0; --k)
#endif
#define FOR_PIXELS(i) EACH for (int i = 0; i < PIXELS; ++i)

// The pixels and the labels of a work item.
typedef struct {
  int y, group, odd, colour;
  int pixels;               // number of pixels in the image
  int first_label, labels;  // the share's labels
  bool exists;
} Place;

// Work items beyond the last pixel repeat it, because all wait at barriers, but do not store.
static Place own_place(int width, int height, int labels, int colour) {
  const int groups = ((width + 1) / 2 + PIXELS - 1) / PIXELS, last = groups * height - 1,
            own = get_group_id(0) * get_local_size(1) + get_local_id(1);
  Place place;
  place.y = min(own, last) / groups;
  place.group = min(own, last) - place.y * groups;
  place.odd = parity(place.y, colour);
  place.colour = colour;
  place.pixels = clamp(pixels_in(width, place.y, colour) - place.group * PIXELS, 0, PIXELS);
  place.first_label = get_local_id(0) * PER_SHARE;
  place.labels = clamp(labels - place.first_label, 0, PER_SHARE);
  place.exists = own <= last;
  return place;
}

static bool has_label(const Place* place, int k) {
  return k < place->labels;
}

// A mask for the pixels that are in the image.
static Word inside_mask(const Place* place) {
#if PROCESSOR
  Pixels mask;
  for (int i = 0; i < PIXELS; ++i) mask.of[i] = i < place->pixels ? (Value)~0 : 0;
  return mask.word;
#else
  return place->pixels == PIXELS ? ~0u : (1u << place->pixels * BITS) - 1;
#endif
}
