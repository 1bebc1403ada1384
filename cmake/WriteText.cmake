# SPDX-License-Identifier: Apache-2.0
# Writes a C++ source that contains a file as text, in the variable `parallax::detail::NAME`.
file(READ ${INPUT} content)
file(WRITE ${OUTPUT} "// Made by the build.
namespace parallax::detail {
extern const char* const ${NAME};
const char* const ${NAME} = R\"text(${content})text\";
}  // namespace parallax::detail
")
