// One direction of a link, as ``Wire`` and ``LinkDirection`` of ``ualink_sim.pod`` are it while no cable is cut.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "capture.h"
#include "exchange.h"
#include "random.h"

enum Kind { DATA, IDLE, REMOTE_FAULT, START };
enum SlotStatus { GOOD, BAD, CONTROL };

struct LinkBeat {
  Line data;
  bool first, last;
  int status, kind;
};

class Wire {
 public:
  explicit Wire(Input& input) : flight_(input.number()), burst_(input.number()), bits_(input), losses_(input) {
    bits_to_error_ = bits_.draw();
    slots_to_loss_ = losses_.draw();
  }

  // Takes what is sent in this cycle, and gives what arrives.
  std::optional<LinkBeat> cycle(std::optional<LinkBeat> sent) {
    if (sent) {
      if (sent->first) begin_slot(sent->kind);
      if (sent->kind != DATA || lost_) {
        sent->data.fill(0);
      } else if (bits_to_error_ < BEAT_BITS) {
        flip(sent->data);
      } else {
        bits_to_error_ -= BEAT_BITS;
      }
      sent->status = lost_ ? BAD : sent->kind != DATA ? CONTROL : GOOD;
      errored_flits_ += sent->last && errored_;
    }
    flight_.push_back(sent);
    const std::optional<LinkBeat> arrival = flight_.front();
    flight_.pop_front();
    return arrival;
  }

  void tell(Output& output) const {
    for (uint64_t count : {slots_, data_flits_, lost_slots_, lost_flits_, errored_flits_, flipped_bits_})
      output.number(count);
  }

 private:
  static constexpr int64_t BEAT_BITS = 512;

  void begin_slot(int kind) {
    slots_ += 1;
    data_flits_ += kind == DATA;
    errored_ = false;
    if (!loss_left_ && !slots_to_loss_) {
      loss_left_ = burst_;
      slots_to_loss_ = losses_.draw();
    } else if (!loss_left_) {
      slots_to_loss_ -= 1;
    }
    lost_ = loss_left_ > 0;
    if (lost_) {
      loss_left_ -= 1;
      lost_slots_ += 1;
    }
    lost_flits_ += kind == DATA && lost_;
  }

  void flip(Line& data) {
    int64_t position = bits_to_error_;
    while (position < BEAT_BITS) {
      data[position / 32] ^= 1u << position % 32;
      flipped_bits_ += 1;
      position += 1 + bits_.draw();
    }
    bits_to_error_ = position - BEAT_BITS;
    errored_ = true;
  }

  std::deque<std::optional<LinkBeat>> flight_;
  uint64_t burst_;
  Gaps bits_, losses_;
  int64_t bits_to_error_, slots_to_loss_;
  uint64_t loss_left_ = 0;
  bool lost_ = false, errored_ = false;
  uint64_t slots_ = 0, data_flits_ = 0, lost_slots_ = 0, lost_flits_ = 0, errored_flits_ = 0, flipped_bits_ = 0;
};

class LinkDirection {
 public:
  // What was sent before traffic began, arrives and is not taken yet.
  std::optional<LinkBeat> arrival;
  LinkDirection* reverse = nullptr;

  LinkDirection(Input& input, Capture& capture, uint32_t number)
      : wire_(input), tx_(capture, 2 * number), rx_(capture, 2 * number + 1) {}

  void transmit(uint64_t cycle, const std::optional<LinkBeat>& sent) {
    if (sent) {
      tx_.beat(cycle, sent->data, sent->first, sent->last, sent->kind == DATA);
      count(cycle, *sent);
    }
    arrival = wire_.cycle(sent);
    if (arrival) observe(cycle, *arrival);
  }

  std::optional<LinkBeat> take() {
    const std::optional<LinkBeat> taken = arrival;
    arrival.reset();
    return taken;
  }

  void carried(uint64_t data_bytes) {
    bucket_.data_bytes += data_bytes - data_bytes_;
    data_bytes_ = data_bytes;
  }

  // Ends a bucket of counts.
  void turn_over(uint64_t cycle) {
    bucket_.cycles = cycle - bucket_.start;
    buckets_.push_back(bucket_);
    bucket_ = Bucket{cycle};
  }

  void tell(Output& output) const {
    wire_.tell(output);
    for (uint64_t count : {control_slots_, fault_slots_, markers_}) output.number(count);
    output.number(buckets_.size());
    for (const Bucket& b : buckets_)
      for (uint64_t count : {b.start, b.cycles, b.flits, b.payload_flits, b.replayed, b.tl_flits, b.data_bytes})
        output.number(count);
    output.number(replays_.size());
    for (const Replay& replay : replays_)
      for (uint64_t value : {replay.cycle, replay.seq, replay.cycles}) output.number(value);
  }

 private:
  struct Bucket {
    uint64_t start = 0, cycles = 0, flits = 0, payload_flits = 0, replayed = 0, tl_flits = 0, data_bytes = 0;
  };
  struct Wanted {
    uint64_t cycle, seq;
  };
  struct Replay {
    uint64_t cycle, seq, cycles;  // cycles: NOT_ANSWERED if the link ended before
  };

  static constexpr uint64_t BUCKET_CYCLES = 240, NOT_ANSWERED = ~uint64_t(0);
  static constexpr uint32_t CONTROL_FLITS = 4, OP_EXPLICIT_REPLAY = 1, OP_REPLAY_REQUEST = 3, SEQUENCE_NUMBERS = 511;

  static uint32_t header_of(const LinkBeat& last) { return last.data[12] & 0xffffff; }

  void count(uint64_t cycle, const LinkBeat& beat) {
    if (cycle - bucket_.start >= BUCKET_CYCLES) turn_over(cycle);
    if (beat.first) {
      segment_headers_ = beat_ = 0;
      markers_ += beat.kind == START;
    } else if (beat_ & 1) {
      segment_headers_ = segment_headers_ << 8 | beat.data[0] >> 24;
    }
    beat_ += 1;
    if (!beat.last) return;
    if (beat.kind != DATA) {
      control_slots_ += 1;
      fault_slots_ += beat.kind == REMOTE_FAULT;
      controls_ += 1;
      if (controls_ >= CONTROL_FLITS) newest_ = current_ = SEQUENCE_NUMBERS;
      return;
    }
    controls_ = 0;
    bucket_.flits += 1;
    const uint32_t header = header_of(beat), op = header >> 21;
    if (op == OP_REPLAY_REQUEST) reverse->requested(cycle, header >> 11 & 0x1ff);
    if (!(header >> 20 & 1)) return;
    bucket_.payload_flits += 1;
    current_ = op < 2 ? header >> 8 & 0x1ff : current_ % SEQUENCE_NUMBERS + 1;
    if (current_ == newest_ % SEQUENCE_NUMBERS + 1) {
      newest_ = current_;
      bucket_.tl_flits += __builtin_popcountll(segment_headers_ & 0x9090909090);
    } else {
      bucket_.replayed += 1;
    }
  }

  void requested(uint64_t cycle, uint64_t seq) {
    if (!wanted_) wanted_ = Wanted{cycle, seq};
  }

  void observe(uint64_t cycle, const LinkBeat& beat) {
    rx_.beat(cycle, beat.data, beat.first, beat.last, beat.status == GOOD);
    if (!beat.last) return;
    if (beat.status == BAD) rx_.lose();
    controls_seen_ = beat.status == CONTROL ? controls_seen_ + 1 : 0;
    if (controls_seen_ >= CONTROL_FLITS) {
      recovered(NOT_ANSWERED);
    } else if (beat.status == GOOD && wanted_) {
      const uint32_t header = header_of(beat);
      const bool replay = header >> 21 == OP_EXPLICIT_REPLAY && header >> 20 & 1;
      if (replay && (header >> 8 & 0x1ff) == wanted_->seq) recovered(cycle - wanted_->cycle);
    }
  }

  void recovered(uint64_t cycles) {
    if (wanted_) replays_.push_back({wanted_->cycle, wanted_->seq, cycles});
    wanted_.reset();
  }

  Wire wire_;
  Tap tx_, rx_;
  Bucket bucket_;
  std::vector<Bucket> buckets_;
  std::vector<Replay> replays_;
  std::optional<Wanted> wanted_;
  uint64_t data_bytes_ = 0, segment_headers_ = 0, beat_ = 0;
  uint64_t control_slots_ = 0, fault_slots_ = 0, markers_ = 0;
  uint32_t controls_ = 0, controls_seen_ = 0, newest_ = SEQUENCE_NUMBERS, current_ = SEQUENCE_NUMBERS;
};
