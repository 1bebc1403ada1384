# SPDX-License-Identifier: Apache-2.0
# `cmake --install`, find_package(parallax) and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS parallax EXPORT parallaxTargets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/parallax ${PROJECT_BINARY_DIR}/include/parallax
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(PARALLAX_TOOLS)
  install(TARGETS parallax_command)
endif()
if(TARGET parallax_view)
  install(TARGETS parallax_view)
endif()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/parallax)
install(EXPORT parallaxTargets NAMESPACE parallax:: DESTINATION ${package_folder})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/parallaxConfig.cmake.in ${PROJECT_BINARY_DIR}/parallaxConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/parallaxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/parallaxConfig.cmake ${PROJECT_BINARY_DIR}/parallaxConfigVersion.cmake
        DESTINATION ${package_folder})

# Programs that link a static library must also link the libraries it uses; a shared library loads them itself.
if(BUILD_SHARED_LIBS)
  # They are not even in Requires.private, whose files pkg-config would look for.
  set(pkg_config_requires "Requires:")
else()
  set(pkg_config_requires "Requires: libhwy, tbb")
endif()
# The file finds the prefix relative to its own folder, so that `cmake --install --prefix` can choose it.
file(RELATIVE_PATH pkg_config_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/parallax.pc.in ${PROJECT_BINARY_DIR}/parallax.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/parallax.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
