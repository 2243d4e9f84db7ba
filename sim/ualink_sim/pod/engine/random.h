// Random numbers as Python's ``random.Random`` draws them, from a state that Python has seeded.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "exchange.h"

class Random {
 public:
  explicit Random(Input& input) {
    for (uint32_t& word : state_) word = input.number();
    next_ = input.number();
  }

  // From 0 to below 1, as ``random()``.
  double real() {
    const uint32_t high = word() >> 5, low = word() >> 6;
    return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0);
  }

  // As ``getrandbits(64)``.
  uint64_t bits() {
    const uint64_t low = word();
    return low | uint64_t(word()) << 32;
  }

 private:
  static constexpr int SIZE = 624, SHIFT = 397;

  uint32_t word() {
    if (next_ >= SIZE) turn();
    uint32_t y = state_[next_++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
  }

  void turn() {
    for (int n = 0; n < SIZE; ++n) {
      const uint32_t y = (state_[n] & 0x80000000u) | (state_[(n + 1) % SIZE] & 0x7fffffffu);
      state_[n] = state_[(n + SHIFT) % SIZE] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    next_ = 0;
  }

  std::array<uint32_t, SIZE> state_;
  int next_;
};

// Numbers of untouched trials between two events, as ``_Gaps`` of ``ualink_sim.pod.wire``.
class Gaps {
 public:
  explicit Gaps(Input& input) : scale_(input.real()), random_(input) {}

  int64_t draw() {
    if (scale_ == 0) return NEVER;
    const double gap = std::log(1.0 - random_.real()) * scale_;
    return gap < NEVER ? int64_t(gap) : NEVER;
  }

 private:
  static constexpr int64_t NEVER = int64_t(1) << 62;

  double scale_;
  Random random_;
};
