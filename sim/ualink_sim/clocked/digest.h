// A number that tells values of signals from others.

#ifndef UALINK_DIGEST_H
#define UALINK_DIGEST_H

#include <verilated.h>

#include <cstddef>
#include <cstdint>

class Digest {
 public:
  void add(uint64_t value) {
    value_ = (value_ ^ value) * 0x9e3779b97f4a7c15;  // Odd: no two values fall together.
    value_ ^= value_ >> 32;
  }

  template <std::size_t WORDS>
  void add(const VlWide<WORDS>& value) {
    for (std::size_t n = 0; n < WORDS; ++n) add(value[n]);
  }

  bool operator!=(const Digest& other) const { return value_ != other.value_; }

 private:
  uint64_t value_ = 0;
};

#endif
