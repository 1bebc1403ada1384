# SPDX-License-Identifier: Apache-2.0
"""The library alone, from the tree that this file is in: conan create packaging/conan"""

from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Parallax(ConanFile):
    name = "parallax-stereo"
    version = "0.2.0"
    description = "Dense stereo matching, the same bytes on every device"
    license = "Apache-2.0"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}

    def export_sources(self) -> None:
        tree = Path(self.recipe_folder).parent.parent
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, tree, self.export_sources_folder)

    def requirements(self) -> None:
        self.requires("highway/[>=1.0.3 <2]")
        self.requires("onetbb/[>=2021]")
        self.requires("nlohmann_json/[>=3.11 <4]")
        self.requires("opencl-headers/[>=2022]")

    def layout(self) -> None:
        cmake_layout(self)

    def generate(self) -> None:
        dependencies = CMakeDeps(self)
        dependencies.set_property("highway", "cmake_file_name", "hwy")
        dependencies.set_property("highway::hwy", "cmake_target_name", "hwy::hwy")
        dependencies.generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({"PARALLAX_TOOLS": False, "PARALLAX_DEVELOPER_MODE": False})
        toolchain.generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self) -> None:
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, str(Path(self.package_folder) / "licenses"))

    def package_info(self) -> None:
        self.cpp_info.libs = ["parallax"]
        self.cpp_info.set_property("cmake_file_name", "parallax")
        self.cpp_info.set_property("cmake_target_name", "parallax::parallax")
        if not self.options.shared:
            self.cpp_info.system_libs = ["dl", "m", "pthread"]
