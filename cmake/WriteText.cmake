# SPDX-License-Identifier: Apache-2.0
# Puts a file into a C++ source, as text: the variable `parallax::detail::NAME`.
file(READ ${INPUT} content)
file(WRITE ${OUTPUT} "// Made by the build.
namespace parallax::detail {
extern const char* const ${NAME};
const char* const ${NAME} = R\"text(${content})text\";
}  // namespace parallax::detail
")
