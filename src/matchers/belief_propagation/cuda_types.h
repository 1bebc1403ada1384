// What the host tells the kernels of belief propagation; included by both.
#pragma once

#include "devices/cuda/pair.h"

namespace parallax::belief_propagation {

// Both images as they are compared. Planes of 16-bit samples in 256ths of a gray level, `stride` apart,
// `plane` elements each; the last is gray. Of the mirrored pair when the right image is matched.
struct CudaSamples {
  unsigned short* left;
  unsigned short* right;
  int width, height;
  int stride, planes;
  long long plane;
};

// A bit for each pixel of a row, 32 a word, `words` words a row: set where the image has a valid pixel.
struct CudaValidity {
  unsigned* left;
  unsigned* right;
  int words;
};

// What a data cost is made from.
struct CudaCosts {
  CudaSamples samples;
  const void* left_features;  // signatures, or lowest and highest values; in rows of samples.stride
  const void* right_features;
  CudaValidity validity;
  const float* table;   // costs of whole-level differences
  const float* volume;  // the caller's
  long long volume_row_stride;
  int min_disparity;
  int differences;
  float cost_scale, outside;
  float volume_scale;
  int mirrored;
  unsigned char* status;  // of each pixel from the start, in rows of samples.stride
};

// A level in whole arithmetic. A word holds neighbours of one colour in a row, a "group"; see cuda_whole.cu.
struct CudaWholeLevel {
  int width, height;
  int groups;             // in a row
  long long plane_words;  // of one colour
  unsigned* data;         // [colour]
  unsigned* messages;     // [colour][direction]; null: there is no such level
  const unsigned* edges;  // [colour][row][group][direction][slope, truncation]; null = alike everywhere
};

// A level in floats, [row][label][pixel of one colour], or as the index order says.
struct CudaFloatLevel {
  int width, height;
  int pitch;                 // pixels of one colour in a row
  long long plane_elements;  // of one colour
  void* data;                // [colour]
  void* messages;            // [colour][direction]
  const unsigned short* gray;
  int gray_stride;
};

struct CudaSmoothness {
  unsigned slope, truncation;  // of edges that are alike everywhere
};

// Where decisions go.
struct CudaDecision {
  float* disparity;
  unsigned char* status;
  float* confidence;
  int stride, status_stride;  // of the two floats; of the status
  const unsigned char* from_start;
  int from_start_stride;
  int min_disparity;
  int mirrored;
  float min_confidence;
  float full_gap;  // the gap of confidence one half
};

}  // namespace parallax::belief_propagation
