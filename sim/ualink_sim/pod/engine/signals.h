// The signals of the pod, each in 32-bit words of its own, and the beats on UPLI.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "capture.h"
#include "exchange.h"

// A broken rule, as ``ProtocolError`` of ``ualink_sim.bfm.upli.rules``; without channel and rule, what else went wrong.
struct ProtocolError {
  std::string channel, rule, detail;
};

// All words of the pod, in parts of equal length.
struct Signals {
  uint64_t parts, shown_words, driven_words;  // in a part
  std::vector<uint32_t> shown;                // by the device, in this cycle
  std::vector<uint32_t> driven;               // to the device, from now on

  explicit Signals(Input& input)
      : parts(input.number()),
        shown_words(input.number()),
        driven_words(input.number()),
        shown(parts * shown_words),
        driven(parts * driven_words) {}
};

// A signal of up to 64 bits, which the device shows or which is driven to it.
class Signal {
 public:
  Signal() = default;
  Signal(Signals& signals, Input& input) : signals_(&signals), at_(input.number()), words_(input.number()) {}

  bool there() const { return words_ > 0; }
  uint64_t operator()() const {
    const uint32_t* from = signals_->shown.data() + at_;
    return words_ == 1 ? *from : *from | uint64_t(from[1]) << 32;
  }
  void drive(uint64_t value) const {
    uint32_t* to = signals_->driven.data() + at_;
    *to = value;
    if (words_ > 1) to[1] = value >> 32;
  }
  const uint32_t* wide() const { return signals_->shown.data() + at_; }
  uint32_t* drive_wide() const { return signals_->driven.data() + at_; }

 private:
  Signals* signals_ = nullptr;
  int at_ = 0, words_ = 0;
};

// By the numbers of ``CODES`` in ``ualink_sim.pod.engine.job``.
enum Field {
  PORT_ID,
  POOL,
  AUTH_TAG,
  SRC,
  DST,
  TAG,
  ASI,
  NUM_BEATS,
  ADDR,
  CMD,
  LEN,
  ATTR,
  META_DATA,
  VC,
  BYTE_EN,
  OFFSET,
  LAST,
  ERROR,
  STATUS,
  DATA_ERROR,
  FIELDS,
};

enum ReqCmd : uint64_t { READ = 0x03, WRITE = 0x28, WRITE_FULL = 0x29, ATOMIC_R = 0x30, ATOMIC_NR = 0x32 };
enum Status : uint64_t { OKAY = 0, TARGET_ABORT = 2, ISOLATE = 15 };

struct Beat {
  std::array<uint64_t, FIELDS> field{};
  Line data{};

  uint64_t operator[](Field name) const { return field[name]; }
  uint64_t& operator[](Field name) { return field[name]; }
};

struct CreditSignals {
  Signal init_done, vld, pool, vld_parity, parity;
  std::array<Signal, 4> port_vc, port_num;

  CreditSignals(Signals& signals, Input& input) {
    for (Signal* signal : {&init_done, &vld, &pool, &vld_parity, &parity}) *signal = Signal(signals, input);
    for (Signal& signal : port_vc) signal = Signal(signals, input);
    for (Signal& signal : port_num) signal = Signal(signals, input);
  }
};

// Fields of a channel with their signals, and what each parity covers.
class ChannelSignals {
 public:
  std::string name;
  Signal vld, vld_parity;
  CreditSignals credit;

  ChannelSignals(Signals& signals, Input& input)
      : name(input.bytes()), vld(signals, input), vld_parity(signals, input), credit(signals, input) {
    fields_.resize(input.number());
    for (auto& [field, signal] : fields_) {
      field = Field(input.number());
      signal = Signal(signals, input);
    }
    data_ = Signal(signals, input);
    data_parity_ = Signal(signals, input);
    parities_.resize(input.number());
    for (Parity& parity : parities_) {
      parity.signal = Signal(signals, input);
      parity.covers.resize(input.number());
      for (Field& field : parity.covers) field = Field(input.number());
    }
  }

  Beat read() const {
    Beat beat;
    for (const auto& [field, signal] : fields_) beat[field] = signal();
    if (data_.there()) std::copy_n(data_.wide(), beat.data.size(), beat.data.begin());
    for (const Parity& parity : parities_)
      if (parity.signal() != parity.of(beat)) throw ProtocolError{name, "beat_parity", ""};
    if (data_parity_.there() && data_parity_() != parity_of(beat.data))
      throw ProtocolError{name, "beat_parity", "data"};
    return beat;
  }

  void drive(const Beat& beat) const {
    for (const auto& [field, signal] : fields_) signal.drive(beat[field]);
    if (data_.there()) std::copy(beat.data.begin(), beat.data.end(), data_.drive_wide());
    for (const Parity& parity : parities_) parity.signal.drive(parity.of(beat));
    if (data_parity_.there()) data_parity_.drive(parity_of(beat.data));
  }

  void drive(Field name, uint64_t value) const {
    for (const auto& [field, signal] : fields_)
      if (field == name) signal.drive(value);
  }

 private:
  struct Parity {
    Signal signal;
    std::vector<Field> covers;

    uint64_t of(const Beat& beat) const {
      uint64_t all = 0;
      for (Field field : covers) all ^= __builtin_parityll(beat[field]);
      return all;
    }
  };

  static uint64_t parity_of(const Line& data) {
    uint64_t parity = 0;
    for (size_t n = 0; n < data.size(); n += 2) parity |= uint64_t(__builtin_parity(data[n] ^ data[n + 1])) << n / 2;
    return parity;
  }

  std::vector<std::pair<Field, Signal>> fields_;
  Signal data_, data_parity_;
  std::vector<Parity> parities_;
};

struct InterfaceSignals {
  ChannelSignals req, orig_data, rd_rsp, wr_rsp;
  Signal orig_clk_req, orig_clk_ack, comp_clk_req, comp_clk_ack;

  InterfaceSignals(Signals& signals, Input& input)
      : req(signals, input),
        orig_data(signals, input),
        rd_rsp(signals, input),
        wr_rsp(signals, input),
        orig_clk_req(signals, input),
        orig_clk_ack(signals, input),
        comp_clk_req(signals, input),
        comp_clk_ack(signals, input) {}
};
