// SPDX-License-Identifier: Apache-2.0
// What libc++ lacks of C++20's library: std::bit_cast before Clang 15, std::atomic_ref before Clang 19.
#pragma once

#include <atomic>
#include <bit>
#include <cstring>
#include <thread>
#include <version>

namespace parallax {

#ifdef __cpp_lib_bit_cast
using std::bit_cast;
#else
template <class To, class From>
To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
#endif

#ifdef __cpp_lib_atomic_ref
template <class T>
using AtomicRef = std::atomic_ref<T>;
#else
// The members that Parallax uses. wait() polls.
template <class T>
class AtomicRef {
 public:
  explicit AtomicRef(T& value) : value_(&value) {}
  T load(std::memory_order order) const { return __atomic_load_n(value_, static_cast<int>(order)); }
  void store(T value, std::memory_order order) const {
    __atomic_store_n(value_, value, static_cast<int>(order));
  }
  T operator++(int) const { return __atomic_fetch_add(value_, 1, __ATOMIC_SEQ_CST); }
  void wait(T old, std::memory_order order) const {
    while (load(order) == old) std::this_thread::yield();
  }
  void notify_all() const {}

 private:
  T* value_;
};
#endif

}  // namespace parallax
