// The bus models of an accelerator, as ``UPLIOriginator`` and ``UPLICompleter`` of ``ualink_sim.bfm.upli`` are.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "channels.h"
#include "transactions.h"

// Sends what is next of ``burst``, if there is any.
inline void send_next(std::deque<Beat>& burst, ChannelSender& channel, int slot) {
  if (burst.empty()) {
    channel.idle();
    return;
  }
  Beat beat = burst.front();
  burst.pop_front();
  beat[PORT_ID] = slot;
  channel.drive(beat);
}

// Follows the handshake, opens channels by it and returns credits; whether beats may be sent.
inline bool follow(Connection& connection, ChannelSender* const (&senders)[2], ChannelReceiver* const (&receivers)[2]) {
  connection.tick();
  for (ChannelSender* sender : senders) sender->open = connection.inbound;
  for (ChannelReceiver* receiver : receivers) receiver->open = connection.outbound && connection.inbound;
  if (!connection.outbound) return false;
  for (ChannelReceiver* receiver : receivers) receiver->drive_credits();
  return connection.inbound;
}

class Originator {
 public:
  ChannelSender req, orig_data;
  ChannelReceiver rd_rsp, wr_rsp;
  std::vector<std::shared_ptr<Journey>> issued;

  Originator(const InterfaceSignals& bus, int ports, Input& input)
      : req(bus.req, ports),
        orig_data(bus.orig_data, ports),
        rd_rsp(bus.rd_rsp, read_slots_, ports, input.number()),
        wr_rsp(bus.wr_rsp, write_slots_, ports, input.number()),
        ports_(ports),
        read_slots_(ports),
        write_slots_(ports),
        responses_(ports, input.number()),
        tags_(ports),
        waiting_(ports),
        burst_(ports),
        connection_(bus.orig_clk_req, bus.comp_clk_ack, bus.comp_clk_req, bus.orig_clk_ack) {
    const uint64_t outstanding = input.number();
    for (auto& tags : tags_)
      for (uint64_t tag = 0; tag < outstanding; ++tag) tags.push_back(tag);
  }

  size_t backlog() const {
    size_t all = 0;
    for (const auto& waiting : waiting_) all += waiting.size();
    return all;
  }

  void submit(const std::shared_ptr<Journey>& journey) { waiting_[journey->port].push_back(journey); }

  // Gives the journeys that end in this cycle.
  std::vector<std::shared_ptr<Journey>> tick(uint64_t cycle) {
    req.sample(cycle);
    orig_data.sample(cycle);
    std::vector<std::shared_ptr<Journey>> completed;
    for (bool read : {true, false})
      if (const std::optional<Beat> beat = (read ? rd_rsp : wr_rsp).sample(cycle))
        if (auto journey = responses_.take(cycle, read, *beat)) completed.push_back(journey);
    if (responses_.busy()) responses_.check(cycle);
    for (const auto& journey : completed) tags_[journey->sent[PORT_ID]].push_back(journey->sent[TAG]);
    if (follow(connection_, {&req, &orig_data}, {&rd_rsp, &wr_rsp})) send(cycle % ports_);
    return completed;
  }

 private:
  void send(int slot) {
    auto& burst = burst_[slot];
    auto& waiting = waiting_[slot];
    std::shared_ptr<Journey> next;
    if (!waiting.empty() && !tags_[slot].empty()) {
      const Journey& head = *waiting.front();
      const int vc = head.sent[VC], beats = head.data.size();
      if (req.affords(slot, vc, 1) && (!beats || (burst.empty() && orig_data.affords(slot, vc, beats)))) {
        next = waiting.front();
        waiting.pop_front();
      }
    }
    if (next) {
      next->sent[TAG] = tags_[slot].front();
      tags_[slot].pop_front();
      next->sent[PORT_ID] = slot;
      issued.push_back(next);
      responses_.add(next);
      req.drive(next->sent);
      burst.insert(burst.end(), next->data.begin(), next->data.end());
    } else {
      req.idle();
    }
    send_next(burst, orig_data, slot);
  }

  int ports_;
  Slots read_slots_, write_slots_;
  ResponseCollector responses_;
  std::vector<std::deque<uint64_t>> tags_;
  std::vector<std::deque<std::shared_ptr<Journey>>> waiting_;
  std::vector<std::deque<Beat>> burst_;
  Connection connection_;
};

class Completer {
 public:
  // Gives the beats of the Response, on the Read Response channel if the Request is a Read.
  using Handler = std::function<std::vector<Beat>(const Beat&, const std::vector<Beat>&)>;

  ChannelReceiver req, orig_data;
  ChannelSender rd_rsp, wr_rsp;

  Completer(const InterfaceSignals& bus, int ports, Input& input, Handler handler)
      : req(bus.req, slots_, ports, input.number()),
        orig_data(bus.orig_data, slots_, ports, input.number()),
        rd_rsp(bus.rd_rsp, ports),
        wr_rsp(bus.wr_rsp, ports),
        ports_(ports),
        slots_(ports),
        latency_(input.number()),
        handler_(std::move(handler)),
        requests_(ports),
        reads_(ports),
        writes_(ports),
        burst_(ports),
        connection_(bus.comp_clk_req, bus.orig_clk_ack, bus.orig_clk_req, bus.comp_clk_ack) {}

  void tick(uint64_t cycle) {
    rd_rsp.sample(cycle);
    wr_rsp.sample(cycle);
    const std::optional<Beat> request = req.sample(cycle), data = orig_data.sample(cycle);
    requests_.take(cycle, request, data, [&](const Beat& beat, const std::vector<Beat>& beats) {
      auto& ready = beat[CMD] == READ || beat[CMD] == ATOMIC_R ? reads_ : writes_;
      ready[beat[PORT_ID]].push_back({cycle + latency_, handler_(beat, beats)});
    });
    if (!follow(connection_, {&rd_rsp, &wr_rsp}, {&req, &orig_data})) return;
    const int slot = cycle % ports_;
    send_read_response(cycle, slot);
    send_write_response(cycle, slot);
  }

 private:
  struct Ready {
    uint64_t due;
    std::vector<Beat> beats;
  };

  void send_read_response(uint64_t cycle, int slot) {
    auto& burst = burst_[slot];
    auto& ready = reads_[slot];
    if (burst.empty() && !ready.empty() && ready.front().due <= cycle) {
      const std::vector<Beat>& beats = ready.front().beats;
      if (rd_rsp.affords(slot, beats[0][VC], beats.size())) {
        burst.assign(beats.begin(), beats.end());
        ready.pop_front();
      }
    }
    send_next(burst, rd_rsp, slot);
  }

  void send_write_response(uint64_t cycle, int slot) {
    auto& ready = writes_[slot];
    if (ready.empty() || ready.front().due > cycle || !wr_rsp.affords(slot, ready.front().beats[0][VC], 1)) {
      wr_rsp.idle();
      return;
    }
    Beat beat = ready.front().beats[0];
    ready.pop_front();
    beat[PORT_ID] = slot;
    wr_rsp.drive(beat);
  }

  int ports_;
  Slots slots_;
  uint64_t latency_;
  Handler handler_;
  RequestCollector requests_;
  std::vector<std::deque<Ready>> reads_, writes_;
  std::vector<std::deque<Beat>> burst_;
  Connection connection_;
};
