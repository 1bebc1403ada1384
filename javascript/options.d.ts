// SPDX-License-Identifier: Apache-2.0
// Made by make_options.mjs from what the methods declare.

export interface BlockOptions {
  method: "block";
  /** Parameters to begin with */
  preset?: "default" | "sad-full-row";
  /** Lowest disparity; may be negative (pixels); a number from -1000000 to 1000000; default 0 */
  min_disparity?: number;
  /** Number of disparities (pixels); a number from 1 to 1000000; default 64 */
  disparities?: number;
  /** Search the whole row instead of a range of disparities; default false */
  full_row?: boolean;
  /** Side of the window in pixels, odd, from 1 to 31 (pixels); an odd number from 1 to 31; default 9 */
  window?: number;
  /** Cost of a window; default sad */
  cost?: "sad" | "ssd" | "zncc";
  /** Filter applied to both images first; default x-sobel */
  prefilter?: "none" | "x-sobel";
  /** Limit of the Sobel response (8-bit gray levels); a number from 1 to 127; default 31 */
  prefilter_cap?: number;
  /** Reject pixels whose second-best cost is within this percentage of the best; 0 = none (per cent); a number from 0 to 100; default 0 */
  uniqueness?: number;
  /** Reject windows with less texture; 0 = none (8-bit gray levels); a finite number, 0 or more; default 0 */
  texture_threshold?: number;
  /** Rows that are compared: as given, or aligned automatically, by fractions of a row that corners of both images show, if that is not negligible; once = by what the first pair of a matcher shows; default given */
  rows?: "given" | "auto" | "once";
  /** Rows above and below in which matches are searched, too: for pairs whose rows do not line up (rows); a number from 0 to 16; default 0 */
  row_tolerance?: number;
  /** Strength of the surface of row offsets fitted to the whole pair: 1 = as measured best, 2 = twice as strong; 0 = no surface; a number from 0 to 1000; default 1 */
  row_prior?: number;
  /** Interpolation between labels; default parabola */
  sub_pixel?: "none" | "parabola" | "v-shape";
  /** Reject pixels where the left and the right map disagree; default true */
  left_right_check?: boolean;
  /** Largest difference allowed between the two maps (pixels); a finite number, 0 or more; default 1 */
  left_right_tolerance?: number;
  /** Reject pixels whose right pixel a nearer one takes: needs no match of the right image; default false */
  occlusion_check?: boolean;
  /** Reject regions of fewer pixels; 0 = none (pixels); a finite number, 0 or more; default 50 */
  speckle_size?: number;
  /** Largest difference between neighbours in a region (pixels); a finite number, 0 or more; default 1 */
  speckle_range?: number;
  /** Reject large blank regions, such as the sky, whose few values contradict each other; default false */
  reject_unseen?: boolean;
  /** Window over which fractions of disparities are fitted to census costs: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  refit?: number;
  /** How to fill pixels without a value; row = from a neighbour on the same row, directions = also from above and below, guided by the left image, planes = first from planes of superpixels; default planes */
  fill?: "none" | "row" | "directions" | "planes";
  /** Window of the median filter: 0 (none), 3 or 5 (pixels); 0, 3 or 5; default 5 */
  median?: number;
  /** Window of the median weighted by the left image: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  weighted_median?: number;
  /** Difference in gray at which its weights fall to 1/e (gray levels); a number from 1 to 255; default 10 */
  weighted_median_range?: number;
  /** Window of the bilateral filter guided by the left image: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  bilateral?: number;
  /** Difference in gray at which its weights fall to 1/e (gray levels); a number from 1 to 255; default 10 */
  bilateral_range?: number;
  /** Largest difference in disparity of neighbours that count (pixels); a number from 0 to 128; default 1 */
  bilateral_step?: number;
}

export interface BpOptions {
  method: "bp";
  /** Parameters to begin with */
  preset?: "default" | "accurate" | "video" | "grauer-gray-2010" | "grauer-gray-2019";
  /** Lowest disparity; may be negative (pixels); a number from -1000000 to 1000000; default 0 */
  min_disparity?: number;
  /** Number of disparities (pixels); a number from 2 to 1024; default 64 */
  disparities?: number;
  /** Levels of the image pyramid; a number from 1 to 30; default 5 */
  levels?: number;
  /** Iterations on each level; a number from 1 to 1000; default 7 */
  iterations?: number;
  /** Iterations on the finest level; 0 = as on the others; a number from 0 to 1000; default 3 */
  finest_iterations?: number;
  /** The same in the right match of the left-right check; 0 = as in the left match; a number from 0 to 1000; default 2 */
  right_finest_iterations?: number;
  /** Finest levels that consider only labels near those of the next coarser level; 0 = none; a number from 0 to 2; default 2 */
  candidate_levels?: number;
  /** Labels considered on either side of each of those (labels); a number from 0 to 1024; default 1 */
  candidate_slack?: number;
  /** Most ranges of labels considered in a tile of 8×8 pixels; a number from 1 to 4; default 4 */
  candidate_ranges?: number;
  /** Number format of messages; default fixed8 */
  arithmetic?: "fixed8" | "fixed16" | "float32" | "float16" | "bfloat16";
  /** Data cost; default census */
  cost?: "absolute-difference" | "absolute-difference-colour" | "census" | "birchfield-tomasi" | "volume";
  /** Cost per gray level, or bit, of difference; a number from 1e-06 to 1000; default 0.04 */
  data_weight?: number;
  /** Limit to which differences are truncated, in gray levels or bits; 0 = no limit (gray levels or bits); a number from 0 to 256; default 20 */
  data_truncation?: number;
  /** Gray levels by which neighbours must be darker, or brighter, to count in two thirds of a census; 0 = darker by any number, in all of it (gray levels); a number from 0 to 64; default 1 */
  census_tolerance?: number;
  /** Data cost of a label that points outside the right image; none = no data cost for its pixel; a number from 0 to 1000; default 1.6 */
  outside_cost?: number | "none";
  /** Sigma in pixels of the Gaussian blur of both images; 0 = none (pixels); a number from 0 to 30; default 0 */
  smoothing?: number;
  /** Rows that are compared: as given, or aligned automatically, by fractions of a row that corners of both images show, if that is not negligible; once = by what the first pair of a matcher shows; default given */
  rows?: "given" | "auto" | "once";
  /** Rows above and below in which matches are searched, too: for pairs whose rows do not line up (rows); a number from 0 to 16; default 0 */
  row_tolerance?: number;
  /** Cost of a change of the row offset by one (labels); a number from 0 to 1024; default 4 */
  row_weight?: number;
  /** Strength of the surface of row offsets fitted to the whole pair: 1 = as measured best, 2 = twice as strong; 0 = no surface; a number from 0 to 1000; default 1 */
  row_prior?: number;
  /** Interpolation between labels; default v-shape */
  sub_pixel?: "none" | "parabola" | "v-shape";
  /** Reject pixels of lower confidence (0 to 1); 0 = none; a number from 0 to 1; default 0 */
  min_confidence?: number;
  /** Jump, in labels, beyond which the cost no longer grows; 0 = disparities / 7.5 (labels); a number from 0 to 1024; default 6 */
  discontinuity_truncation?: number;
  /** Contrast of an edge that lowers the cost of a jump to 1/e; 0 = ignore edges (gray levels); a number from 0 to 256; default 12 */
  edge_contrast?: number;
  /** Fraction of the cost of a jump that remains at any edge; a number from 0 to 1; default 0.05 */
  edge_floor?: number;
  /** Reject pixels where the left and the right map disagree; default true */
  left_right_check?: boolean;
  /** Largest difference allowed between the two maps (pixels); a finite number, 0 or more; default 0.75 */
  left_right_tolerance?: number;
  /** Reject pixels whose right pixel a nearer one takes: needs no match of the right image; default false */
  occlusion_check?: boolean;
  /** Reject regions of fewer pixels; 0 = none (pixels); a finite number, 0 or more; default 0 */
  speckle_size?: number;
  /** Largest difference between neighbours in a region (pixels); a finite number, 0 or more; default 1 */
  speckle_range?: number;
  /** Reject large blank regions, such as the sky, whose few values contradict each other; default false */
  reject_unseen?: boolean;
  /** Window over which fractions of disparities are fitted to census costs: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  refit?: number;
  /** How to fill pixels without a value; row = from a neighbour on the same row, directions = also from above and below, guided by the left image, planes = first from planes of superpixels; default planes */
  fill?: "none" | "row" | "directions" | "planes";
  /** Window of the median filter: 0 (none), 3 or 5 (pixels); 0, 3 or 5; default 5 */
  median?: number;
  /** Window of the median weighted by the left image: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  weighted_median?: number;
  /** Difference in gray at which its weights fall to 1/e (gray levels); a number from 1 to 255; default 10 */
  weighted_median_range?: number;
  /** Window of the bilateral filter guided by the left image: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  bilateral?: number;
  /** Difference in gray at which its weights fall to 1/e (gray levels); a number from 1 to 255; default 10 */
  bilateral_range?: number;
  /** Largest difference in disparity of neighbours that count (pixels); a number from 0 to 128; default 1 */
  bilateral_step?: number;
}

export interface CensusOptions {
  method: "census";
  /** Parameters to begin with */
  preset?: "default" | "mobile-gpu-2015" | "fast" | "balanced" | "accurate";
  /** Lowest disparity; may be negative (pixels); a number from -1000000 to 1000000; default 0 */
  min_disparity?: number;
  /** Number of disparities (pixels); a number from 1 to 1000000; default 64 */
  disparities?: number;
  /** Descriptor of a pixel; default census-9x7 */
  transform?: "census-5x5" | "census-7x7" | "census-9x7" | "census-9x9" | "modified-5x5" | "modified-7x7" | "modified-9x7" | "modified-9x9" | "sparse-modified-7x7";
  /** Cost of a pixel; default hamming */
  cost?: "hamming" | "ad-census";
  /** Limit to which the differences of ad-census are truncated, in gray levels (gray levels); a number from 1 to 127; default 20 */
  ad_truncation?: number;
  /** Side of the window in pixels, odd, from 1 to 15 (pixels); an odd number from 1 to 15; default 9 */
  window?: number;
  /** Levels of the image pyramid; 1 = search all disparities at full resolution; a number from 1 to 30; default 3 */
  pyramid_levels?: number;
  /** Radius of the search around the estimate of the coarser level (pixels); a number from 1 to 1000; default 4 */
  search_radius?: number;
  /** Reject pixels whose second-best cost is within this percentage of the best; 0 = none (per cent); a number from 0 to 100; default 0 */
  uniqueness?: number;
  /** Rows that are compared: as given, or aligned automatically, by fractions of a row that corners of both images show, if that is not negligible; once = by what the first pair of a matcher shows; default given */
  rows?: "given" | "auto" | "once";
  /** Rows above and below in which matches are searched, too: for pairs whose rows do not line up (rows); a number from 0 to 16; default 0 */
  row_tolerance?: number;
  /** Strength of the surface of row offsets fitted to the whole pair: 1 = as measured best, 2 = twice as strong; 0 = no surface; a number from 0 to 1000; default 1 */
  row_prior?: number;
  /** Interpolation between labels; default v-shape */
  sub_pixel?: "none" | "parabola" | "v-shape";
  /** Reject pixels where the left and the right map disagree; default true */
  left_right_check?: boolean;
  /** Largest difference allowed between the two maps (pixels); a finite number, 0 or more; default 1 */
  left_right_tolerance?: number;
  /** Reject pixels whose right pixel a nearer one takes: needs no match of the right image; default false */
  occlusion_check?: boolean;
  /** Reject regions of fewer pixels; 0 = none (pixels); a finite number, 0 or more; default 50 */
  speckle_size?: number;
  /** Largest difference between neighbours in a region (pixels); a finite number, 0 or more; default 1 */
  speckle_range?: number;
  /** Reject large blank regions, such as the sky, whose few values contradict each other; default false */
  reject_unseen?: boolean;
  /** Window over which fractions of disparities are fitted to census costs: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  refit?: number;
  /** How to fill pixels without a value; row = from a neighbour on the same row, directions = also from above and below, guided by the left image, planes = first from planes of superpixels; default planes */
  fill?: "none" | "row" | "directions" | "planes";
  /** Window of the median filter: 0 (none), 3 or 5 (pixels); 0, 3 or 5; default 5 */
  median?: number;
  /** Window of the median weighted by the left image: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  weighted_median?: number;
  /** Difference in gray at which its weights fall to 1/e (gray levels); a number from 1 to 255; default 10 */
  weighted_median_range?: number;
  /** Window of the bilateral filter guided by the left image: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  bilateral?: number;
  /** Difference in gray at which its weights fall to 1/e (gray levels); a number from 1 to 255; default 10 */
  bilateral_range?: number;
  /** Largest difference in disparity of neighbours that count (pixels); a number from 0 to 128; default 1 */
  bilateral_step?: number;
}

export interface MotionOptions {
  method: "motion";
  /** Parameters to begin with */
  preset?: "default" | "all-labels";
  /** Lowest disparity; may be negative (pixels); a number from -1000000 to 1000000; default -64 */
  min_disparity?: number;
  /** Number of disparities (pixels); a number from 1 to 4096; default 129 */
  disparities?: number;
  /** Lowest row offset, downwards; may be negative (pixels); a number from -1000000 to 1000000; default -64 */
  min_row_offset?: number;
  /** Number of row offsets (pixels); a number from 1 to 4096; default 129 */
  row_offsets?: number;
  /** Side of the square of labels around the motion found at the next coarser scale: 0 (all labels, no scales), or odd from 3 to 7 (pixels); 0, or an odd number from 3 to 7; default 7 */
  active_window?: number;
  /** Cost of each pixel of difference from that motion; a number from 0 to 1000; default 0.02 */
  prediction_weight?: number;
  /** Levels of the pyramid of messages over all labels; a number from 1 to 30; default 5 */
  levels?: number;
  /** Iterations on each level and scale; a number from 1 to 1000; default 14 */
  iterations?: number;
  /** Iterations on the image itself; 0 = as on the others; a number from 0 to 1000; default 8 */
  finest_iterations?: number;
  /** Number format of messages; default fixed8 */
  arithmetic?: "fixed8" | "fixed16" | "float32";
  /** Data cost; default census */
  cost?: "census" | "absolute-difference";
  /** Cost per gray level, or bit, of difference; a number from 1e-06 to 1000; default 0.04 */
  data_weight?: number;
  /** Limit to which differences are truncated, in gray levels or bits; 0 = no limit (gray levels or bits); a number from 0 to 256; default 0 */
  data_truncation?: number;
  /** Data cost of a label that points outside the second frame; a number from 0 to 1000; default 1.6 */
  outside_cost?: number;
  /** Sigma in pixels of the Gaussian blur of both images; 0 = none (pixels); a number from 0 to 30; default 0 */
  smoothing?: number;
  /** Interpolation between labels; default v-shape */
  sub_pixel?: "none" | "parabola" | "v-shape";
  /** Reject pixels of lower confidence (0 to 1); 0 = none; a number from 0 to 1; default 0 */
  min_confidence?: number;
  /** Jump, in labels, beyond which the cost no longer grows (labels); a number from 0.001 to 1024; default 5 */
  discontinuity_truncation?: number;
  /** Contrast of an edge that lowers the cost of a jump to 1/e; 0 = ignore edges (gray levels); a number from 0 to 256; default 14 */
  edge_contrast?: number;
  /** Fraction of the cost of a jump that remains at any edge; a number from 0 to 1; default 0.05 */
  edge_floor?: number;
  /** Reject pixels where the motions from and to the second frame disagree; default true */
  left_right_check?: boolean;
  /** Largest difference allowed between the two motions, on each axis (pixels); a finite number, 0 or more; default 0.75 */
  left_right_tolerance?: number;
  /** Window over which fractions of motions are fitted to gray levels: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 15 */
  refit?: number;
  /** How to fill pixels without a value; directions = the vector median of the nearest in eight directions; default directions */
  fill?: "none" | "directions";
  /** Window of the median filter of each component: 0 (none), 3 or 5 (pixels); 0, 3 or 5; default 5 */
  median?: number;
  /** Window of the median weighted by the first frame: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 11 */
  weighted_median?: number;
  /** Difference in gray at which its weights fall to 1/e (gray levels); a number from 1 to 255; default 20 */
  weighted_median_range?: number;
}

export interface PlanesOptions {
  method: "planes";
  /** Parameters to begin with */
  preset?: "default";
  /** Lowest disparity; may be negative (pixels); a number from -1000000 to 1000000; default 0 */
  min_disparity?: number;
  /** Number of disparities (pixels); a number from 2 to 1024; default 64 */
  disparities?: number;
  /** Rounds of moves of each size; a number from 1 to 100; default 1 */
  rounds?: number;
  /** Cost of one bit of difference between census signatures (pixels of jump); a number from 0.001 to 0.25; default 0.04 */
  data_weight?: number;
  /** Jump between the planes of neighbours beyond which the cost no longer grows (pixels); a number from 0.01 to 2; default 2 */
  discontinuity_truncation?: number;
  /** Contrast of an edge that lowers the cost of a jump to 1/e; 0 = ignore edges (gray levels); a number from 0 to 256; default 10 */
  edge_contrast?: number;
  /** Fraction of the cost of a jump that remains at any edge; a number from 0 to 1; default 0.05 */
  edge_floor?: number;
  /** Rows that are compared: as given, or aligned automatically, by fractions of a row that corners of both images show, if that is not negligible; once = by what the first pair of a matcher shows; default given */
  rows?: "given" | "auto" | "once";
  /** Reject pixels of lower confidence (0 to 1); 0 = none; a number from 0 to 1; default 0 */
  min_confidence?: number;
  /** Reject pixels where the left and the right map disagree; default true */
  left_right_check?: boolean;
  /** Largest difference allowed between the two maps (pixels); a finite number, 0 or more; default 1 */
  left_right_tolerance?: number;
  /** Reject pixels whose right pixel a nearer one takes: needs no match of the right image; default false */
  occlusion_check?: boolean;
  /** Reject regions of fewer pixels; 0 = none (pixels); a finite number, 0 or more; default 0 */
  speckle_size?: number;
  /** Largest difference between neighbours in a region (pixels); a finite number, 0 or more; default 1 */
  speckle_range?: number;
  /** Reject large blank regions, such as the sky, whose few values contradict each other; default false */
  reject_unseen?: boolean;
  /** Window over which fractions of disparities are fitted to census costs: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  refit?: number;
  /** How to fill pixels without a value; row = from a neighbour on the same row, directions = also from above and below, guided by the left image, planes = first from planes of superpixels; default planes */
  fill?: "none" | "row" | "directions" | "planes";
  /** Window of the median filter: 0 (none), 3 or 5 (pixels); 0, 3 or 5; default 5 */
  median?: number;
  /** Window of the median weighted by the left image: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  weighted_median?: number;
  /** Difference in gray at which its weights fall to 1/e (gray levels); a number from 1 to 255; default 10 */
  weighted_median_range?: number;
  /** Window of the bilateral filter guided by the left image: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  bilateral?: number;
  /** Difference in gray at which its weights fall to 1/e (gray levels); a number from 1 to 255; default 10 */
  bilateral_range?: number;
  /** Largest difference in disparity of neighbours that count (pixels); a number from 0 to 128; default 1 */
  bilateral_step?: number;
}

export interface SgmOptions {
  method?: "sgm";
  /** Parameters to begin with */
  preset?: "default" | "mgm" | "opencv-sgbm" | "opencv-sgbm-hh" | "libsgm";
  /** Lowest disparity; may be negative (pixels); a number from -1000000 to 1000000; default 0 */
  min_disparity?: number;
  /** Number of disparities (pixels); a number from 2 to 1024; default 64 */
  disparities?: number;
  /** Paths through each pixel; 4, 5 or 8; default 4 */
  paths?: number;
  /** What a path brings to a pixel: the costs before it (sgm), or the mean of those and the costs beside it (mgm); default sgm */
  aggregation?: "sgm" | "mgm";
  /** Data cost; default census */
  cost?: "absolute-difference" | "absolute-difference-colour" | "census" | "birchfield-tomasi" | "census-centre-symmetric" | "gradient-birchfield-tomasi" | "volume";
  /** Cost per gray level, or bit, of difference (units); a number from 1e-06 to 1000; default 1 */
  data_weight?: number;
  /** Limit to which differences are truncated, in gray levels or bits; 0 = no limit (gray levels or bits); a number from 0 to 256; default 24 */
  data_truncation?: number;
  /** Gray levels by which neighbours must be darker, or brighter, to count in two thirds of a census; 0 = darker by any number, in all of it (gray levels); a number from 0 to 64; default 0 */
  census_tolerance?: number;
  /** Data cost of a label that points outside the right image; none = no data cost for its pixel (units); a number from 0 to 8191; default 20 */
  outside_cost?: number | "none";
  /** Sigma in pixels of the Gaussian blur of both images; 0 = none (pixels); a number from 0 to 30; default 0 */
  smoothing?: number;
  /** Side of the square window over which data costs are added up (pixels); an odd number from 1 to 15; default 1 */
  window?: number;
  /** P1: cost of a change by one label along a path (units); a number from 1 to 8191; default 28 */
  small_jump?: number;
  /** P2: cost of any larger change (units); a number from 2 to 8191; default 160 */
  large_jump?: number;
  /** Contrast of an edge that lowers P2 to 1/e; 0 = ignore edges (gray levels); a number from 0 to 256; default 10 */
  edge_contrast?: number;
  /** Fraction of P2 that remains at any edge; a number from 0 to 1; default 0.05 */
  edge_floor?: number;
  /** Rows that are compared: as given, or aligned automatically, by fractions of a row that corners of both images show, if that is not negligible; once = by what the first pair of a matcher shows; default given */
  rows?: "given" | "auto" | "once";
  /** Rows above and below in which matches are searched, too: for pairs whose rows do not line up (rows); a number from 0 to 16; default 0 */
  row_tolerance?: number;
  /** P3: cost of any change of the row offset (units); a number from 1 to 8191; default 120 */
  row_jump?: number;
  /** Strength of the surface of row offsets fitted to the whole pair: 1 = as measured best, 2 = twice as strong; 0 = no surface; a number from 0 to 1000; default 1 */
  row_prior?: number;
  /** Interpolation between labels; default v-shape */
  sub_pixel?: "none" | "parabola" | "v-shape";
  /** Reject pixels whose second-best sum is within this share of the best; 0 = none (percent); a number from 0 to 100; default 0 */
  uniqueness?: number;
  /** Reject pixels of lower confidence (0 to 1); 0 = none; a number from 0 to 1; default 0 */
  min_confidence?: number;
  /** Right map of the left-right check: the best of the left image's sums, the best of its winners, or that of another match; default sums */
  right_map?: "sums" | "winners" | "match";
  /** Reject pixels where the left and the right map disagree; default true */
  left_right_check?: boolean;
  /** Largest difference allowed between the two maps (pixels); a finite number, 0 or more; default 0.75 */
  left_right_tolerance?: number;
  /** Reject pixels whose right pixel a nearer one takes: needs no match of the right image; default false */
  occlusion_check?: boolean;
  /** Reject regions of fewer pixels; 0 = none (pixels); a finite number, 0 or more; default 30 */
  speckle_size?: number;
  /** Largest difference between neighbours in a region (pixels); a finite number, 0 or more; default 1 */
  speckle_range?: number;
  /** Reject large blank regions, such as the sky, whose few values contradict each other; default false */
  reject_unseen?: boolean;
  /** Window over which fractions of disparities are fitted to census costs: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  refit?: number;
  /** How to fill pixels without a value; row = from a neighbour on the same row, directions = also from above and below, guided by the left image, planes = first from planes of superpixels; default planes */
  fill?: "none" | "row" | "directions" | "planes";
  /** Window of the median filter: 0 (none), 3 or 5 (pixels); 0, 3 or 5; default 5 */
  median?: number;
  /** Window of the median weighted by the left image: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  weighted_median?: number;
  /** Difference in gray at which its weights fall to 1/e (gray levels); a number from 1 to 255; default 10 */
  weighted_median_range?: number;
  /** Window of the bilateral filter guided by the left image: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  bilateral?: number;
  /** Difference in gray at which its weights fall to 1/e (gray levels); a number from 1 to 255; default 10 */
  bilateral_range?: number;
  /** Largest difference in disparity of neighbours that count (pixels); a number from 0 to 128; default 1 */
  bilateral_step?: number;
}

export interface TiledBpOptions {
  method: "tiled-bp";
  /** Parameters to begin with */
  preset?: "default" | "memocode-2013" | "memocode-2013-tuned";
  /** Lowest disparity; may be negative (pixels); a number from -1000000 to 1000000; default 0 */
  min_disparity?: number;
  /** Number of disparities (pixels); a number from 2 to 1024; default 64 */
  disparities?: number;
  /** Side of a tile in pixels; 0 = the whole image (pixels); a number from 0 to 4096; default 32 */
  tile?: number;
  /** Outer iterations, each of which visits all tiles in raster order, then in reverse; a number from 1 to 1000; default 1 */
  outer?: number;
  /** Inner iterations per visit of a tile, of four sweeps each; a number from 1 to 1000; default 2 */
  inner?: number;
  /** Order of the four sweeps; default right-left-down-up */
  sweep_order?: "right-left-down-up" | "right-left-up-down";
  /** Cost per label of a jump between neighbours (units); a number from 1 to 8191; default 8 */
  discontinuity_cost?: number;
  /** Jump, in labels, beyond which the cost no longer grows (labels); a number from 1 to 1024; default 5 */
  discontinuity_truncation?: number;
  /** Bits per message value (bits); default automatic */
  message_width?: "automatic" | "8" | "16";
  /** End a visit when an iteration changes no message; default true */
  early_out?: boolean;
  /** Data cost; default census */
  cost?: "absolute-difference" | "absolute-difference-colour" | "census" | "birchfield-tomasi" | "mean-absolute-difference" | "volume";
  /** Cost per gray level, or bit, of difference (units); a number from 1e-06 to 1000; default 0.8 */
  data_weight?: number;
  /** Limit to which differences are truncated, in gray levels or bits; 0 = no limit (gray levels or bits); a number from 0 to 256; default 0 */
  data_truncation?: number;
  /** Gray levels by which neighbours must be darker, or brighter, to count in two thirds of a census; 0 = darker by any number, in all of it (gray levels); a number from 0 to 64; default 0 */
  census_tolerance?: number;
  /** Data cost of a label that points outside the right image; none = no data cost for its pixel (units); a number from 0 to 8191; default 33 */
  outside_cost?: number | "none";
  /** Sigma in pixels of the Gaussian blur of both images; 0 = none (pixels); a number from 0 to 30; default 0 */
  smoothing?: number;
  /** Width of the border without data costs, in pixels (pixels); a number from 0 to 1000000; default 0 */
  frame?: number;
  /** Rows that are compared: as given, or aligned automatically, by fractions of a row that corners of both images show, if that is not negligible; once = by what the first pair of a matcher shows; default given */
  rows?: "given" | "auto" | "once";
  /** Interpolation between labels; default parabola */
  sub_pixel?: "none" | "parabola" | "v-shape";
  /** Reject pixels of lower confidence (0 to 1); 0 = none; a number from 0 to 1; default 0 */
  min_confidence?: number;
  /** Reject pixels where the left and the right map disagree; default true */
  left_right_check?: boolean;
  /** Largest difference allowed between the two maps (pixels); a finite number, 0 or more; default 0.75 */
  left_right_tolerance?: number;
  /** Reject pixels whose right pixel a nearer one takes: needs no match of the right image; default false */
  occlusion_check?: boolean;
  /** Reject regions of fewer pixels; 0 = none (pixels); a finite number, 0 or more; default 0 */
  speckle_size?: number;
  /** Largest difference between neighbours in a region (pixels); a finite number, 0 or more; default 1 */
  speckle_range?: number;
  /** Reject large blank regions, such as the sky, whose few values contradict each other; default false */
  reject_unseen?: boolean;
  /** Window over which fractions of disparities are fitted to census costs: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  refit?: number;
  /** How to fill pixels without a value; row = from a neighbour on the same row, directions = also from above and below, guided by the left image, planes = first from planes of superpixels; default planes */
  fill?: "none" | "row" | "directions" | "planes";
  /** Window of the median filter: 0 (none), 3 or 5 (pixels); 0, 3 or 5; default 5 */
  median?: number;
  /** Window of the median weighted by the left image: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  weighted_median?: number;
  /** Difference in gray at which its weights fall to 1/e (gray levels); a number from 1 to 255; default 10 */
  weighted_median_range?: number;
  /** Window of the bilateral filter guided by the left image: 0 (none), or odd from 3 to 15 (pixels); 0, or an odd number from 3 to 15; default 0 */
  bilateral?: number;
  /** Difference in gray at which its weights fall to 1/e (gray levels); a number from 1 to 255; default 10 */
  bilateral_range?: number;
  /** Largest difference in disparity of neighbours that count (pixels); a number from 0 to 128; default 1 */
  bilateral_step?: number;
}

export type MethodOptions = BlockOptions | BpOptions | CensusOptions | MotionOptions | PlanesOptions | SgmOptions | TiledBpOptions;
