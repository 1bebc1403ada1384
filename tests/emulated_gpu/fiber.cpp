// SPDX-License-Identifier: Apache-2.0
#include "fiber.h"

#include <cerrno>
#include <system_error>

#include <sys/mman.h>
#include <unistd.h>

// ucontext sets the signal mask by a system call at each switch, which takes twenty times as long as the rest
// of the switch.
#if defined(__x86_64__) && !defined(EMULATED_UCONTEXT)
#define EMULATED_ASSEMBLY 1
#else
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define EMULATED_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATED_ASAN 1
#endif
#endif
#ifdef EMULATED_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulated {
namespace {

// Enough for kernels, even with the redzones of a sanitizer. Only touched pages use memory.
constexpr std::size_t stack_bytes = 256 * 1024;

// Memory that grows downwards, with a protected page below it.
class Stack {
 public:
  Stack() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* memory = mmap(nullptr, page_ + stack_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "the stack of a fiber");
    memory_ = static_cast<char*>(memory);
    mprotect(memory_, page_, PROT_NONE);
  }
  ~Stack() {
#ifdef EMULATED_ASAN
    // The next user of this address must not find the poison of dropped calls.
    __asan_unpoison_memory_region(lowest(), stack_bytes);
#endif
    munmap(memory_, page_ + stack_bytes);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  char* lowest() const {
    return memory_ + page_;
  }
  char* end() const {
    return lowest() + stack_bytes;
  }

 private:
  std::size_t page_;
  char* memory_ = nullptr;
};

}  // namespace

#ifdef EMULATED_ASSEMBLY

// A suspended call; the registers that must be preserved are on its stack.
struct Context {
  void* stack_pointer = nullptr;
};

extern "C" void emulated_switch(Context* from, const Context* to);
asm(R"(
  .text
  .globl emulated_switch
  .hidden emulated_switch
  .type emulated_switch, @function
emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq (%rsi), %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size emulated_switch, . - emulated_switch
)");

namespace {

// Prepares a context as if `entry` had been called, and suspended before its first instruction.
void prepare(Context& context, const Stack& stack, void (*entry)()) {
  constexpr int registers = 6;
  void** top = reinterpret_cast<void**>(stack.end());
  *--top = nullptr;  // where entry would return to
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < registers; ++i) *--top = nullptr;
  context.stack_pointer = top;
}

void change(Context& from, const Context& to) {
  emulated_switch(&from, &to);
}

}  // namespace

#else

using Context = ucontext_t;

namespace {

void prepare(Context& context, const Stack& stack, void (*entry)()) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack.lowest();
  context.uc_stack.ss_size = stack_bytes;
  makecontext(&context, entry, 0);
}

void change(Context& from, const Context& to) {
  swapcontext(&from, &to);
}

}  // namespace

#endif

struct Fiber::State {
  void (*body)(void*);
  void* argument;
  Stack stack;
  Context inside{}, outside{};
  // The stack from which it is resumed, and the address sanitizer's state of both stacks.
  const void* outer_stack = nullptr;
  std::size_t outer_bytes = 0;
  void *inside_shadow = nullptr, *outside_shadow = nullptr;
};

namespace {

// Passed in a variable, because the entry of a fiber gets no argument.
Fiber::State* starting = nullptr;

void announce([[maybe_unused]] void** shadow_to_keep, [[maybe_unused]] const void* stack,
              [[maybe_unused]] std::size_t bytes) {
#ifdef EMULATED_ASAN
  __sanitizer_start_switch_fiber(shadow_to_keep, stack, bytes);
#endif
}

void arrive([[maybe_unused]] void* kept_shadow, [[maybe_unused]] const void** left_stack,
            [[maybe_unused]] std::size_t* left_bytes) {
#ifdef EMULATED_ASAN
  __sanitizer_finish_switch_fiber(kept_shadow, left_stack, left_bytes);
#endif
}

void enter() {
  Fiber::State& state = *starting;
  arrive(nullptr, &state.outer_stack, &state.outer_bytes);
  state.body(state.argument);
}

}  // namespace

Fiber::Fiber(void (*body)(void*), void* argument) : state_(new State{body, argument, {}}) {
  prepare(state_->inside, state_->stack, enter);
}

Fiber::~Fiber() = default;

void Fiber::resume() {
  starting = state_.get();
  announce(&state_->outside_shadow, state_->stack.lowest(), stack_bytes);
  change(state_->outside, state_->inside);
  arrive(state_->outside_shadow, nullptr, nullptr);
}

void Fiber::suspend() {
  announce(&state_->inside_shadow, state_->outer_stack, state_->outer_bytes);
  change(state_->inside, state_->outside);
  arrive(state_->inside_shadow, &state_->outer_stack, &state_->outer_bytes);
}

}  // namespace emulated
