// What Python hands to the engine and takes from it: files of 64-bit numbers and of bytes behind their number.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

class Input {
 public:
  explicit Input(const std::string& path) : stream_(path, std::ios::binary) {}

  uint64_t number() {
    uint64_t value = 0;
    stream_.read(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }

  double real() {
    const uint64_t bits = number();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  std::string bytes() {
    std::string value(number(), '\0');
    stream_.read(value.data(), value.size());
    return value;
  }

 private:
  std::ifstream stream_;
};

class Output {
 public:
  explicit Output(const std::string& path) : stream_(path, std::ios::binary) {}

  void number(uint64_t value) { stream_.write(reinterpret_cast<const char*>(&value), sizeof value); }

  void bytes(const std::string& value) {
    number(value.size());
    stream_.write(value.data(), value.size());
  }

 private:
  std::ofstream stream_;
};
