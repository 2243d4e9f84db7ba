// Both ends of a UPLI channel and the connection, as the modules of these names in ``ualink_sim.bfm.upli`` are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "signals.h"

constexpr int VCS = 4;

struct CreditReturn {
  int port;
  bool pool;
  int vc, count;
};

class CreditAccounts {
 public:
  CreditAccounts(const std::string& channel, int ports) : channel_(channel), held_(ports), in_use_(ports) {}

  bool has_pool(int port) const { return held_[port][0] > 0; }
  bool affords(int port, int vc, int beats) const { return held_[port][0] + held_[port][1 + vc] >= beats; }
  void grant(const CreditReturn& credit) { held_[credit.port][credit.pool ? 0 : 1 + credit.vc] += credit.count; }

  void spend(const Beat& beat) {
    int& held = held_[beat[PORT_ID]][beat[POOL] ? 0 : 1 + beat[VC]];
    if (!held) throw ProtocolError{channel_, "credit_overrun", "port " + std::to_string(beat[PORT_ID])};
    held -= 1;
    in_use_[beat[PORT_ID]][VCS * beat[POOL] + beat[VC]] += 1;
  }

  void settle(const CreditReturn& credit) {
    int& in_use = in_use_[credit.port][VCS * credit.pool + credit.vc];
    in_use -= credit.count;
    if (in_use < 0) throw ProtocolError{channel_, "credit_return", "port " + std::to_string(credit.port)};
  }

 private:
  std::string channel_;
  std::vector<std::array<int, 1 + VCS>> held_;
  std::vector<std::array<int, 2 * VCS>> in_use_;
};

// The cycle from which CreditInitDone is seen, by port.
using InitDone = std::vector<std::optional<uint64_t>>;

constexpr uint64_t QUALIFICATION = 2;

inline bool qualified(const std::optional<uint64_t>& done, uint64_t cycle) {
  return done && cycle - *done >= QUALIFICATION;
}

class ChannelSender {
 public:
  bool open = false;
  std::vector<uint64_t> beats;  // sent, by port

  ChannelSender(const ChannelSignals& signals, int ports)
      : beats(ports), signals_(signals), ports_(ports), accounts_(signals.name, ports), init_done_(ports) {}

  void sample(uint64_t cycle) {
    cycle_ = cycle;
    const CreditSignals& credit = signals_.credit;
    const uint64_t done = credit.init_done();
    if (done != done_) note_done(done);
    const uint64_t valid = credit.vld();
    if (credit.vld_parity() != uint64_t(__builtin_parityll(valid))) fail("credit_vld_parity");
    if (!valid) return;
    check_source(valid);
    const uint64_t pool = credit.pool();
    uint64_t odd = __builtin_parityll(pool);
    for (const Signal& signal : credit.port_vc) odd ^= __builtin_parityll(signal());
    for (const Signal& signal : credit.port_num) odd ^= __builtin_parityll(signal());
    if (credit.parity() != odd) fail("credit_parity");
    for (int port = 0; port < ports_; ++port) {
      if (!(valid >> port & 1)) continue;
      const CreditReturn back{port, bool(pool >> port & 1), int(credit.port_vc[port]()),
                              int(credit.port_num[port]()) + 1};
      if (done >> port & 1) accounts_.settle(back);
      accounts_.grant(back);
    }
  }

  bool affords(int port, int vc, int beats) const {
    return qualified(init_done_[port], cycle_) && accounts_.affords(port, vc, beats);
  }

  void drive(Beat beat) {
    beat[POOL] = accounts_.has_pool(beat[PORT_ID]);
    accounts_.spend(beat);
    beats[beat[PORT_ID]] += 1;
    signals_.drive(beat);
    signals_.vld.drive(1);
    signals_.vld_parity.drive(1);
    driving_ = true;
  }

  void idle() {
    if (!driving_) return;
    signals_.vld.drive(0);
    signals_.vld_parity.drive(0);
    signals_.drive(AUTH_TAG, 0);
    driving_ = false;
  }

 private:
  void note_done(uint64_t done) {
    check_source(done);
    if (done_ & ~done) fail("init_done_sticky");
    for (int port = 0; port < ports_; ++port)
      if (done >> port & 1 && !init_done_[port]) init_done_[port] = cycle_;
    done_ = done;
  }

  void check_source(uint64_t ports) const {
    if (!open) fail("connection");
    if (ports >> ports_) fail("port");
  }

  [[noreturn]] void fail(const char* rule) const { throw ProtocolError{signals_.name, rule, "credits"}; }

  const ChannelSignals& signals_;
  int ports_;
  CreditAccounts accounts_;
  InitDone init_done_;
  uint64_t cycle_ = 0, done_ = 0;
  bool driving_ = false;
};

// Learns from the first beat of a group of channels which port owns which cycle.
class Slots {
 public:
  explicit Slots(int ports) : ports_(ports) {}

  bool owns(int port, uint64_t cycle) {
    const int phase = (port + ports_ - int(cycle % ports_)) % ports_;
    if (!phase_) phase_ = phase;
    return phase == *phase_;
  }

 private:
  int ports_;
  std::optional<int> phase_;
};

class ChannelReceiver {
 public:
  bool open = false;
  std::vector<uint64_t> beats;  // received, by port

  ChannelReceiver(const ChannelSignals& signals, Slots& slots, int ports, int pool)
      : beats(ports),
        signals_(signals),
        slots_(slots),
        ports_(ports),
        accounts_(signals.name, ports),
        init_done_(ports),
        initial_(ports, pool),
        owed_(ports) {}

  std::optional<Beat> sample(uint64_t cycle) {
    cycle_ = cycle;
    const uint64_t valid = signals_.vld();
    if (signals_.vld_parity() != valid) fail("vld_parity");
    if (!valid) return std::nullopt;
    if (!open) fail("connection");
    const Beat beat = signals_.read();
    const uint64_t port = beat[PORT_ID];
    if (port >= uint64_t(ports_)) fail("port");
    if (!slots_.owns(port, cycle)) fail("tdm_phase");
    if (!qualified(init_done_[port], cycle)) fail("init_done");
    accounts_.spend(beat);
    beats[port] += 1;
    busy_ = true;
    owed_[port].push_back({int(port), bool(beat[POOL]), int(beat[VC]), 1});
    return beat;
  }

  // Returns what is due; to be called once in a cycle in which this side may send credits.
  void drive_credits() {
    if (!busy_) return;
    uint64_t valid = 0, pool = 0, odd = 0;
    std::array<uint64_t, 4> vcs{}, nums{};
    for (int port = 0; port < ports_; ++port) {
      const std::optional<CreditReturn> give = due(port);
      if (!give) continue;
      valid |= 1 << port;
      pool |= uint64_t(give->pool) << port;
      vcs[port] = give->vc;
      nums[port] = give->count - 1;
      accounts_.grant(*give);
    }
    const CreditSignals& credit = signals_.credit;
    if (valid || returning_) {
      credit.vld.drive(valid);
      credit.vld_parity.drive(__builtin_parityll(valid));
      credit.pool.drive(pool);
      for (int port = 0; port < 4; ++port) {
        credit.port_vc[port].drive(vcs[port]);
        credit.port_num[port].drive(nums[port]);
        odd ^= __builtin_parityll(vcs[port]) ^ __builtin_parityll(nums[port]);
      }
      credit.parity.drive(odd ^ __builtin_parityll(pool));
      returning_ = valid != 0;
    } else if (!done_) {
      done_ = true;
      init_done_.assign(ports_, cycle_);
      credit.init_done.drive((1 << ports_) - 1);
    } else {
      busy_ = false;
      for (const auto& owed : owed_) busy_ |= !owed.empty();
    }
  }

 private:
  static constexpr int MAX_RETURN = 4;

  std::optional<CreditReturn> due(int port) {
    if (initial_[port]) {
      const int count = std::min(MAX_RETURN, initial_[port]);
      initial_[port] -= count;
      return CreditReturn{port, true, 0, count};
    }
    std::deque<CreditReturn>& owed = owed_[port];
    if (owed.empty()) return std::nullopt;
    CreditReturn give = owed.front();
    owed.pop_front();
    while (give.count < MAX_RETURN && !owed.empty() && owed.front().pool == give.pool && owed.front().vc == give.vc) {
      owed.pop_front();
      give.count += 1;
    }
    accounts_.settle(give);
    return give;
  }

  [[noreturn]] void fail(const char* rule) const { throw ProtocolError{signals_.name, rule, "a beat"}; }

  const ChannelSignals& signals_;
  Slots& slots_;
  int ports_;
  CreditAccounts accounts_;
  InitDone init_done_;
  std::vector<int> initial_;  // of the Pool
  std::vector<std::deque<CreditReturn>> owed_;
  uint64_t cycle_ = 0;
  bool busy_ = true, returning_ = false, done_ = false;
};

// Asks for the outbound direction and accepts the inbound one.
class Connection {
 public:
  bool outbound = false, inbound = false;

  Connection(Signal clk_req, Signal peer_clk_ack, Signal peer_clk_req, Signal clk_ack)
      : clk_req_(clk_req), peer_clk_ack_(peer_clk_ack), peer_clk_req_(peer_clk_req), clk_ack_(clk_ack) {}

  void tick() {
    const bool acknowledged = peer_clk_ack_(), requested = peer_clk_req_();
    if ((outbound && !acknowledged) || (inbound && !requested))
      throw ProtocolError{"handshake", "handshake_sticky", ""};
    if (outbound && inbound) return;
    if (acknowledged && !requested_) throw ProtocolError{"handshake", "handshake_order", ""};
    outbound = acknowledged;
    if (!requested_) {
      // ClkReq stays low in the first cycle (ruling B-01).
      requested_ = waited_;
      waited_ = true;
      clk_req_.drive(requested_);
    }
    if (requested && !inbound) {
      inbound = true;
      clk_ack_.drive(1);
    }
  }

 private:
  Signal clk_req_, peer_clk_ack_, peer_clk_req_, clk_ack_;
  bool requested_ = false, waited_ = false;
};
