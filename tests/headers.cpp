// SPDX-License-Identifier: Apache-2.0
// Holds the precompiled headers of the tests, see CMakeLists.txt.
