# SPDX-License-Identifier: Apache-2.0
# From the tree that this file is in: nix-build packaging/nix
{ pkgs ? import <nixpkgs> { } }:

pkgs.stdenv.mkDerivation {
  pname = "parallax-stereo";
  version = "0.2.0";
  src = pkgs.lib.cleanSource ../..;

  nativeBuildInputs = with pkgs; [ cmake ninja pkg-config ];
  buildInputs = with pkgs; [
    cli11
    libhwy
    libjpeg
    libspng
    libtiff
    libwebp
    nlohmann_json
    opencl-headers
    tbb_2021
    tinyxml-2
    xxHash
    yaml-cpp
  ];
  cmakeFlags = [
    "-DBUILD_SHARED_LIBS=ON"
    "-DCMAKE_UNITY_BUILD=ON"
    "-DPARALLAX_DEVELOPER_MODE=OFF"
  ];

  meta = {
    description = "Dense stereo matching, the same bytes on every device";
    license = pkgs.lib.licenses.asl20;
    platforms = [ "x86_64-linux" "aarch64-linux" ];
    mainProgram = "parallax";
  };
}
