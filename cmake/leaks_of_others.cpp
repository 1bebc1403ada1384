// Linked into every sanitized program, for LeakSanitizer: PoCL and the compiler in it keep what they have
// until the process ends, even when all that was made with them has been released.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_options();

const char* __lsan_default_suppressions() {
  return "leak:libpocl\nleak:libLLVM\n";
}

const char* __lsan_default_options() {
  return "print_suppressions=0";
}
