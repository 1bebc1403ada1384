# What the project is built from, to be sourced.
build_packages=(g++ cmake ninja-build pkg-config libhwy-dev libtbb-dev libopencv-dev libcli11-dev nlohmann-json3-dev)
test_packages=(libgtest-dev libbenchmark-dev clang libclang-rt-14-dev)
