# Debian packages that the project needs. Other scripts source this file.
# SPDX-License-Identifier: Apache-2.0
# For the library and the command line.
demo_packages=(g++ cmake ninja-build pkg-config libhwy-dev libtbb-dev libspng-dev libjpeg62-turbo-dev libtiff-dev libwebp-dev
  libxxhash-dev libyaml-cpp-dev libtinyxml2-dev libcli11-dev nlohmann-json3-dev)
build_packages=("${demo_packages[@]}" opencl-c-headers)
test_packages=(libgtest-dev ocl-icd-libopencl1 pocl-opencl-icd python3-numpy python3-pil python3-pytest)
# For sanitizers and fuzz targets, and the programs that scripts and some tests use.
check_packages=(abigail-tools black chromium git clang libclang-rt-dev clang-format doxygen ffmpeg fish munge mypy
  python3-distributed python3-ipykernel python3-matplotlib python3-nbclient python3-opencv python3-tifffile python3-venv
  python3-zarr slurm-wlm zsh)
# The page of 'parallax view' is tested in chromium, which npm's packages drive. Debian's npm does not go with a nodejs from
# elsewhere, which has one of its own.
command -v npm >/dev/null || check_packages+=(nodejs npm)
# For scripts/arm64.sh: a cross compiler, and what runs its programs and fetches their libraries.
arm64_packages=(g++-aarch64-linux-gnu mmdebstrap qemu-user-static)
# To compile for browsers: scripts/wasm.sh.
wasm_packages=(cmake dpkg-dev ninja-build)
command -v em++ >/dev/null || wasm_packages+=(emscripten)
# For the GStreamer plugin, which is built and tested where they are installed.
gstreamer_packages=(libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev gstreamer1.0-plugins-base gstreamer1.0-plugins-good
  gstreamer1.0-tools)
# OpenCV's matchers are compared with ours in benchmarks, its decoders in a test of pictures; tests of parallax/opencv.h need it.
benchmark_packages=(libbenchmark-dev libopencv-dev)
# To build and test the Debian packages: scripts/package.sh.
package_packages=(git debhelper dh-python dpkg-dev help2man libgstreamer-plugins-base1.0-dev libgstreamer1.0-dev python3)
package_test_packages=(lintian mmdebstrap autopkgtest)
