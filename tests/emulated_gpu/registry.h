// SPDX-License-Identifier: Apache-2.0
// Objects by their handles.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

namespace emulated {

// A handle is the address of its object; one that was made up, or whose object is gone, is found out.
template <class Object>
class Registry {
 public:
  template <class Handle>
  Handle add(std::unique_ptr<Object> object) {
    const auto handle = reinterpret_cast<Handle>(object.get());
    objects_.emplace(object.get(), std::move(object));
    return handle;
  }
  template <class Handle>
  Object* find(Handle handle) const {
    const auto found = objects_.find(reinterpret_cast<const void*>(handle));
    return found == objects_.end() ? nullptr : found->second.get();
  }
  template <class Handle>
  bool remove(Handle handle) {
    return objects_.erase(reinterpret_cast<const void*>(handle)) != 0;
  }
  std::size_t size() const { return objects_.size(); }
  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }

 private:
  std::unordered_map<const void*, std::unique_ptr<Object>> objects_;
};

}  // namespace emulated
