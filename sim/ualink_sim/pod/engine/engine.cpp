// Everything around the hardware of a pod, inside of its compiled model: accelerators, their memories, links between
// the stations, captures. ``PodBench`` of ``ualink_sim.pod`` does the same in Python, with bus models; both give the
// same results to the last bit.

#include <svdpi.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "accelerator.h"
#include "link.h"

namespace {

// What is below a station: beats of its data links, in the cycles of its ports.
class Station {
 public:
  Station(Signals& signals, int ports, std::vector<LinkDirection>& directions, Input& input)
      : slot_(signals, input),
        tx_valid_(signals, input),
        tx_payload_(signals, input),
        rx_valid_(signals, input),
        rx_payload_(signals, input),
        remote_fault_(signals, input),
        ports_(ports),
        faults_(ports),
        out_(ports),
        in_(ports) {
    for (int port = 0; port < ports; ++port) {
      const uint64_t out = input.number(), in = input.number();
      if (out >= directions.size()) continue;  // No link is there.
      out_[port] = &directions[out];
      in_[port] = &directions[in];
    }
  }

  // Takes the beat that the station sends, and gives it the one that has come for the same port.
  void carry(uint64_t cycle) {
    const int port = ports_ > 1 ? slot_() : 0;
    if (out_[port]) out_[port]->transmit(cycle, transmitted());
    receive(port, in_[port] ? in_[port]->take() : std::nullopt);
  }

 private:
  static constexpr int FLAGS = 16;  // the word behind 64 bytes

  std::optional<LinkBeat> transmitted() const {
    if (!tx_valid_()) return std::nullopt;
    const uint32_t* words = tx_payload_.wide();
    LinkBeat beat;
    std::copy_n(words, beat.data.size(), beat.data.begin());
    beat.first = words[FLAGS] & 4;
    beat.last = words[FLAGS] & 8;
    beat.status = GOOD;
    beat.kind = words[FLAGS] >> 4 & 3;
    return beat;
  }

  void receive(int port, const std::optional<LinkBeat>& beat) {
    rx_valid_.drive(beat.has_value());
    if (!beat) return;
    // What the partner reports with the last slot that was not lost.
    if (beat->last && beat->status != BAD) faults_[port] = beat->kind == REMOTE_FAULT;
    uint64_t faults = 0;
    for (int n = 0; n < ports_; ++n) faults |= uint64_t(faults_[n]) << n;
    remote_fault_.drive(faults);
    uint32_t* words = rx_payload_.drive_wide();
    std::copy(beat->data.begin(), beat->data.end(), words);
    words[FLAGS] = port | beat->first << 2 | beat->last << 3 | beat->status << 4;
  }

  Signal slot_, tx_valid_, tx_payload_, rx_valid_, rx_payload_, remote_fault_;
  int ports_;
  std::vector<bool> faults_;
  std::vector<LinkDirection*> out_, in_;
};

class Pod {
 public:
  explicit Pod(Input input)
      : results_(input.bytes()),
        ports_(input.number()),
        max_cycles_(input.number()),
        stretch_(input.number()),
        capture_(input),
        signals_(input) {
    const uint64_t directions = input.number();
    directions_.reserve(directions);
    for (uint64_t n = 0; n < directions; ++n) directions_.emplace_back(input, capture_, n);
    for (uint64_t n = 0; n < directions; ++n) directions_[n].reverse = &directions_[n ^ 1];
    const uint64_t stations = input.number();
    for (uint64_t n = 0; n < stations; ++n) stations_.emplace_back(signals_, ports_, directions_, input);
    const uint64_t accelerators = input.number();
    for (uint64_t n = 0; n < accelerators; ++n)
      accelerators_.push_back(std::make_unique<Accelerator>(signals_, n, ports_, traffic_, input));
    const uint64_t requests = input.number();
    uint64_t last_line = 0;
    for (uint64_t n = 0; n < requests; ++n) {
      traffic_.requests.emplace_back(input);
      last_line = std::max(last_line, traffic_.requests.back().line);
    }
    traffic_.fates.resize(requests);
    traffic_.completed.resize(last_line + 1);
  }

  // What the device shows in a part; whether it is the last part of a cycle.
  bool show(uint64_t part, const uint32_t* shown) {
    std::copy_n(shown, signals_.shown_words, signals_.shown.begin() + part * signals_.shown_words);
    parts_shown_ = parts_shown_ % signals_.parts + 1;
    return parts_shown_ == signals_.parts;
  }

  void drive(uint64_t part, uint32_t* driven) const {
    std::copy_n(signals_.driven.begin() + part * signals_.driven_words, signals_.driven_words, driven);
  }

  void tick(bool traffic) {
    if (stands_still()) return;
    if (traffic && !begun_) begin();
    cycle_ += 1;
    try {
      for (Station& station : stations_) station.carry(cycle_);
      for (const auto& accelerator : accelerators_) accelerator->tick(cycle_);
    } catch (const ProtocolError& error) {
      error_ = error;
    }
    count_data();
    if (stands_still() || (begun_ && (cycle_ - *begun_) % stretch_ == 0)) wake_ = !wake_;
  }

  // Writes what was found.
  void end() {
    capture_.close();
    Output output(results_);
    output.number(cycle_);
    output.number(capture_.error());
    output.bytes(error_ ? error_->channel : "");
    output.bytes(error_ ? error_->rule : "");
    output.bytes(error_ ? error_->detail : "");
    for (LinkDirection& direction : directions_) {
      direction.turn_over(cycle_);
      direction.tell(output);
    }
    for (const auto& accelerator : accelerators_) accelerator->memory.tell(output);
    for (const Fate& fate : traffic_.fates) {
      output.number(fate.issued.value_or(0));
      output.number(fate.completed.value_or(0));
      output.number(fate.outcome.status);
      output.bytes(fate.outcome.data);
      output.bytes(fate.mismatch);
    }
  }

  uint64_t cycle() const { return cycle_; }
  uint64_t done() const { return traffic_.done; }
  bool wake() const { return wake_; }
  bool failed() const { return error_.has_value(); }

 private:
  // All is done, or nothing more may be.
  bool stands_still() const {
    return error_ || cycle_ >= max_cycles_ || (begun_ && traffic_.done == traffic_.requests.size());
  }

  void begin() {
    begun_ = cycle_;
    for (LinkDirection& direction : directions_) direction.turn_over(cycle_);
    for (const auto& accelerator : accelerators_) accelerator->give();
  }

  // Credits each direction with the data bytes that crossed the accelerators' UPLI interfaces.
  void count_data() {
    size_t up = 0;
    for (const auto& accelerator : accelerators_) {
      const Originator& originator = accelerator->originator;
      const Completer& completer = accelerator->completer;
      for (int port = 0; port < ports_; ++port, up += 2) {
        directions_[up].carried(LINE_BYTES * (originator.orig_data.beats[port] + completer.rd_rsp.beats[port]));
        directions_[up + 1].carried(LINE_BYTES * (originator.rd_rsp.beats[port] + completer.orig_data.beats[port]));
      }
    }
  }

  std::string results_;
  int ports_;
  uint64_t max_cycles_, stretch_;
  Capture capture_;
  Signals signals_;
  std::vector<LinkDirection> directions_;  // from each port of each accelerator, and back to it
  std::vector<Station> stations_;
  Traffic traffic_;
  std::vector<std::unique_ptr<Accelerator>> accelerators_;
  std::optional<ProtocolError> error_;
  std::optional<uint64_t> begun_;
  uint64_t cycle_ = 0, parts_shown_ = 0;
  bool wake_ = false;
};

std::unique_ptr<Pod> pod;

}  // namespace

extern "C" {

svBit ualink_engine_show(int part, const svBitVecVal* shown) {
  if (!pod) pod = std::make_unique<Pod>(Input(std::getenv("UALINK_ENGINE")));
  return pod->show(part, shown);
}

void ualink_engine_tick(svBit traffic, svBitVecVal* cycle, svBitVecVal* done, svBit* wake, svBit* failed) {
  pod->tick(traffic);
  cycle[0] = pod->cycle();
  cycle[1] = pod->cycle() >> 32;
  *done = pod->done();
  *wake = pod->wake();
  *failed = pod->failed();
}

void ualink_engine_drive(int part, svBitVecVal* driven) { pod->drive(part, driven); }

void ualink_engine_end() {
  if (!pod) return;
  pod->end();
  pod.reset();
}
}
