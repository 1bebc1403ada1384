# What the project is built from, to be sourced.
build_packages=(g++ cmake ninja-build pkg-config libhwy-dev libtbb-dev libopencv-dev libtiff-dev libcli11-dev nlohmann-json3-dev opencl-c-headers)
test_packages=(libgtest-dev libbenchmark-dev clang libclang-rt-14-dev ocl-icd-libopencl1 pocl-opencl-icd)
