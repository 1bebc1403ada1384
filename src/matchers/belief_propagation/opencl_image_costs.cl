// SPDX-License-Identifier: Apache-2.0
// Data costs that are found from the features of the image where they are needed, without a volume of them;
// on a GPU, where levels have candidates. These have census signatures, and costs of at most BOUND.
//
// Specialised by the macros of data_cost/opencl_costs.cl.

// Costs by the number of bits in which signatures differ, of pairs of pixels; then, behind SIGNATURES times
// 1, of left pixels whose right pixel does not exist; behind SIGNATURES times 2, of left pixels without
// data costs: 0.
#define SIGNATURES 65
#define COST_TABLE (4 * SIGNATURES)

// Work item `own` of `items` fills its part of the table.
INLINE void fill_table(const OpenclCosts* costs, local uint* table, int own, int items) {
  for (int i = own; i < COST_TABLE; i += items)
    table[i] = i >= 2 * SIGNATURES ? 0
               : i >= SIGNATURES   ? (uint)costs->outside
                                   : (uint)(cost_of(costs, (Difference)i) + 0.5f);
  barrier(CLK_LOCAL_MEM_FENCE);
}

static global uchar* has_data_at(global uchar* memory, const OpenclInputs* inputs,
                                 const OpenclImageCosts* image, long y, int part) {
  return memory + image->has_data + (y * PARTS + part) * inputs->feature_stride;
}
