// Flits in a pcapng capture, as ``CaptureWriter`` and ``Tap`` of ``ualink_sim.capture.pcapng`` write them.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>

#include "exchange.h"

using Line = std::array<uint32_t, 16>;  // 64 bytes

constexpr int BEATS = 10;  // of a flit

// A file that Python has begun: sections and interfaces are there.
class Capture {
 public:
  explicit Capture(Input& input) {
    const std::string path = input.bytes();
    numerator_ = input.number();
    denominator_ = input.number();
    if (path.empty()) return;
    file_ = std::fopen(path.c_str(), "ab");
    if (!file_) error_ = errno;
  }

  bool wanted() const { return file_ != nullptr; }
  int error() const { return error_; }

  void write(uint32_t interface, uint64_t cycle, const std::array<Line, BEATS>& flit, uint32_t lost) {
    constexpr uint32_t BYTES = 64 * BEATS;
    const uint64_t time = static_cast<unsigned __int128>(cycle) * numerator_ / denominator_;
    const uint32_t length = 32 + BYTES + (lost ? 16 : 0);
    const uint32_t head[] = {6, length, interface, uint32_t(time >> 32), uint32_t(time), BYTES, BYTES};
    // Option epb_dropcount of eight bytes, and the end of options.
    const uint32_t options[] = {4 | 8 << 16, lost, 0, 0};
    put(head, sizeof head);
    put(flit.data(), BYTES);
    if (lost) put(options, sizeof options);
    put(&length, sizeof length);
  }

  void close() {
    if (file_ && std::fclose(file_) && !error_) error_ = errno;
    file_ = nullptr;
  }

 private:
  void put(const void* data, size_t size) {
    if (!error_ && std::fwrite(data, 1, size, file_) != size) error_ = errno;
  }

  std::FILE* file_ = nullptr;
  uint64_t numerator_, denominator_;  // of the picoseconds of a cycle
  int error_ = 0;
};

// Gathers ten beats into a flit.
class Tap {
 public:
  Tap(Capture& capture, uint32_t interface) : capture_(capture), interface_(interface) {}

  void lose() { lost_ += 1; }

  void beat(uint64_t cycle, const Line& data, bool first, bool last, bool data_flit) {
    if (!capture_.wanted()) return;
    if (first) {
      count_ = 0;
      cycle_ = cycle;
    }
    if (count_ < BEATS) flit_[count_] = data;
    count_ += 1;
    if (last && data_flit && count_ == BEATS) {
      capture_.write(interface_, cycle_, flit_, lost_);
      lost_ = 0;
    }
  }

 private:
  Capture& capture_;
  uint32_t interface_;
  std::array<Line, BEATS> flit_;
  int count_ = 0;
  uint64_t cycle_ = 0;
  uint32_t lost_ = 0;
};
