# SPDX-License-Identifier: Apache-2.0
# What `parallax bench --suite papers` does, apart from pictures: benchmarks/ has it without the command line, too.
include_guard(GLOBAL)
set(papers_sources command_files.cpp file_errors.cpp output_files.cpp papers.cpp papers_block.cpp papers_bp_2010.cpp papers_bp_2019.cpp papers_census.cpp papers_report.cpp
                   papers_run.cpp papers_suite.cpp papers_synthetic.cpp papers_tiled_bp.cpp svg_plot.cpp)
list(TRANSFORM papers_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
# For code around the library, which spends its time in there: it compiles in half the time, of which headers are most.
function(parallax_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
endfunction()

add_library(parallax_papers STATIC ${papers_sources})
parallax_target(parallax_papers)
parallax_compile_quickly(parallax_papers)
target_include_directories(parallax_papers PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(parallax_papers PUBLIC parallax nlohmann_json::nlohmann_json)
