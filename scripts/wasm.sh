#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the npm package parallax-stereo in build/javascript/parallax-stereo: the library compiled for browsers and Node, with
# threads and vectors, and once without either. And the page build/javascript/page, the viewer that works without a server.
#
#   scripts/wasm.sh                 builds both
#   scripts/wasm.sh pack            also makes the archive that npm publishes, beside it
#   scripts/wasm.sh test            builds it, and runs its tests under Node and in Chromium; digests of maps are those of
#                                   build/developer on this machine
set -euo pipefail
cd "$(dirname "$0")/.."
command=${1:-build}
# Runs a command, and prints the end of what it said if it fails: quietly LOG COMMAND…
quietly() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 || { tail -30 "$log" >&2; exit 1; }
}
case $command in
  build | pack | test) ;;
  *) sed -n 's/^#   //p' "$0" >&2 && exit 2 ;;
esac

source scripts/packages.sh
[ "$command" = pack ] && { command -v npm >/dev/null || wasm_packages+=(npm); }
# Exit code 77: Emscripten or the sources cannot be had here.
scripts/install-packages.sh "${wasm_packages[@]}" || exit 77
sources=$PWD/build/sources
package=$PWD/build/javascript/parallax-stereo
# Debian's Emscripten has its JavaScript packages there, which a nodejs from elsewhere does not know.
export NODE_PATH=/usr/share/nodejs

# Highway before 1.1 does not use all vector instructions of WebAssembly.
scripts/fetch-sources.sh "$sources" trixie highway || exit 77
scripts/fetch-sources.sh "$sources" bookworm onetbb nlohmann-json3 googletest libjpeg-turbo libspng tiff tinyxml2 yaml-cpp zlib || exit 77
ln -sfn onetbb "$sources/oneTBB"
if [ ! -e "$sources/installed/include/nlohmann/json.hpp" ]; then
  quietly build/json.log emcmake cmake -G Ninja -S "$sources/nlohmann-json3" -B "$sources/json" -DJSON_BuildTests=OFF \
    -DCMAKE_INSTALL_PREFIX="$sources/installed"
  quietly build/json.log cmake --install "$sources/json"
fi

rm -rf "$package"
mkdir -p "$package"
cp -r javascript/{README.md,package.json,index.js,index.d.ts,options.d.ts,engine} LICENSE "$package"
for preset in wasm wasm-scalar; do
  targets=(parallax_module)
  [ $preset = wasm ] && targets+=(viewer_module)
  [ "$command $preset" = "test wasm" ] && targets+=(digests)
  quietly build/$preset.log emcmake cmake --preset $preset -Dnlohmann_json_DIR="$sources/installed/share/cmake/nlohmann_json" -Wno-dev
  quietly build/$preset.log cmake --build build/$preset --target "${targets[@]}" -j "$(nproc)"
  cp build/$preset/javascript/parallax*.{js,wasm} "$package/engine"
done
chmod a-x "$package"/engine/*.wasm
# Licences of what is compiled into the package.
mkdir "$package/licences"
cp "$sources/highway/LICENSE" "$package/licences/highway"
cp "$sources/onetbb/LICENSE.txt" "$package/licences/onetbb"
cp "$sources/nlohmann-json3/LICENSE.MIT" "$package/licences/nlohmann-json"
cp /usr/share/doc/emscripten/copyright "$package/licences/emscripten" 2>/dev/null ||
  cp "$(dirname "$(readlink -f "$(command -v em++)")")/LICENSE" "$package/licences/emscripten"
version=$(sed -n 's/^project(parallax VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
sed -i "s/\"version\": \"[^\"]*\"/\"version\": \"$version\"/" "$package/package.json"

# The page: that of 'parallax view', with a worker in place of the server.
page=$PWD/build/javascript/page
rm -rf "$page"
mkdir -p "$page"
cp tools/view/page/{icon.svg,NOTICE.txt,manifest.webmanifest} tools/view/page/bundle/{cloud.js,view.css} tools/view/page/bundle/browser/* \
  build/wasm/tools/view/engine/viewer*.{js,wasm} "$page"
chmod a-x "$page"/*.wasm
policy="default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; media-src blob:"
sed -e "s|<meta name=\"token\" content=\"TOKEN\">|<meta http-equiv=\"Content-Security-Policy\" content=\"$policy\">|" \
  -e 's|<link rel="icon"|<link rel="manifest" href="manifest.webmanifest">\n  &|' -e 's|view\.js|page.js|' tools/view/page/index.html >"$page/index.html"
# The service worker keeps these files; those that change have another version.
files=$(cd "$page" && printf '"%s",' *.*)
version=$(cd "$page" && cat -- * | sha256sum | cut -c1-16)
sed -i "1s|^|const FILES=[$files],VERSION=\"$version\";|" "$page/offline.js"
cp -r "$package/licences" "$page"
for library in libjpeg-turbo libspng tiff tinyxml2 yaml-cpp zlib; do
  cat "$sources/$library"/LICENSE* >"$page/licences/$library"
done
cat "$sources/libjpeg-turbo/README.ijg" >>"$page/licences/libjpeg-turbo"

if [ "$command" = pack ]; then (cd build/javascript && npm pack --silent ./parallax-stereo); fi
if [ "$command" = test ]; then
  cmake --build --preset developer --target digests parallax_command >/dev/null
  sh tests/view/packages.sh tests/view tools/view/page
  node --test tests/javascript
fi
