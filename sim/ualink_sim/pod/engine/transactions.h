// Requests, their way and their Responses, joined and checked as by ``requests`` and ``responses`` of
// ``ualink_sim.bfm.upli``, for requests that read, write and add.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "channels.h"
#include "exchange.h"

constexpr uint64_t LINE_BYTES = 64;

// What comes back: a status, and of a Read bytes.
struct Outcome {
  uint64_t status;
  std::string data;
};

struct Request {
  uint64_t line, src, dst, cmd, addr, len, attr, window, way;
  std::string data;
  std::vector<uint64_t> after;

  explicit Request(Input& input)
      : line(input.number()),
        src(input.number()),
        dst(input.number()),
        cmd(input.number()),
        addr(input.number()),
        len(input.number()),
        attr(input.number()),
        window(input.number()),
        way(input.number()),
        data(input.bytes()),
        after(input.number()) {
    for (uint64_t& before : after) before = input.number();
  }

  // It is answered on the Read Response channel.
  bool reads() const { return cmd == READ || cmd == ATOMIC_R; }
};

// A request under way: what was sent, and what its completer did with it.
struct Journey {
  const Request* request;
  Beat sent;
  std::vector<Beat> data, response;
  uint64_t port = 0, response_tag = 0;
  std::optional<uint64_t> issued, completed;
  std::optional<Outcome> expected;
  std::string fault;

  // What came back on the bus.
  Outcome outcome() const { return outcome_of(response); }

  Outcome outcome_of(const std::vector<Beat>& beats) const {
    if (!request->reads()) return {beats[0][STATUS], ""};
    std::string image(2 * LINE_BYTES + request->len + 4 * LINE_BYTES, '\0');
    for (const Beat& beat : beats)
      image.replace(LINE_BYTES * beat[OFFSET], LINE_BYTES, reinterpret_cast<const char*>(beat.data.data()), LINE_BYTES);
    return {beats[0][STATUS], image.substr(request->addr % LINE_BYTES, request->len)};
  }

  // Compares what has come to the completer with what was sent.
  void arrive(const Beat& received, const std::vector<Beat>& beats) {
    static constexpr std::pair<Field, const char*> NAMES[] = {
        {AUTH_TAG, "auth_tag"}, {SRC, "src_phys_acc_id"}, {DST, "dst_phys_acc_id"}, {TAG, "tag"},
        {ASI, "asi"},           {NUM_BEATS, "num_beats"}, {ADDR, "addr"},           {CMD, "cmd"},
        {LEN, "len"},           {ATTR, "attr"},           {META_DATA, "meta_data"}, {VC, "vc"}};
    std::string changed;
    for (const auto& [field, name] : NAMES)
      if (received[field] != sent[field]) changed += (changed.empty() ? "" : ", ") + std::string(name);
    if (!changed.empty()) fault = "the Request arrived with other " + changed;
    if (expected) fault = "the Request was executed twice";
    for (size_t n = 0; n < beats.size() && n < data.size(); ++n)
      if (beats[n].data != data[n].data || beats[n][BYTE_EN] != data[n][BYTE_EN] || beats[n][ERROR] != data[n][ERROR])
        fault = "the Request's data arrived changed";
  }
};

using Key = std::tuple<uint64_t, uint64_t, uint64_t>;  // source, port, tag

struct KeyHash {
  size_t operator()(const Key& key) const {
    const auto [source, port, tag] = key;
    return (source << 2 | port) << 11 | tag;
  }
};

// Blocks of 64 bytes that ``len`` + 1 doublewords touch (UALink_200 §2.7.4.6).
inline uint64_t beats_of(uint64_t addr, uint64_t len) { return (((addr >> 2 & 15) + len) >> 4) + 1; }
inline bool has_data(uint64_t cmd) { return cmd >> 5 & 1; }
inline bool is_atomic(uint64_t cmd) { return cmd == ATOMIC_R || cmd == ATOMIC_NR; }
inline uint64_t data_beats(const Beat& request) { return has_data(request[CMD]) ? request[NUM_BEATS] + 1 : 0; }

// Lanes of beat ``n`` that a transfer covers.
inline uint64_t lanes(uint64_t addr, uint64_t len, uint64_t n) {
  const auto below = [](int64_t lane) {
    return lane <= 0 ? 0 : lane >= int64_t(LINE_BYTES) ? ~uint64_t(0) : (uint64_t(1) << lane) - 1;
  };
  const int64_t begin = int64_t(addr % LINE_BYTES) - int64_t(LINE_BYTES * n);
  return below(begin + 4 * (int64_t(len) + 1)) & ~below(begin);
}

// Joins each Request with its data.
class RequestCollector {
 public:
  using Taken = std::function<void(const Beat&, const std::vector<Beat>&)>;

  explicit RequestCollector(int ports) : ports_(ports), received_(ports), due_(ports) {}

  void take(uint64_t cycle, const std::optional<Beat>& request, const std::optional<Beat>& data, const Taken& taken) {
    if (request) take_request(*request, data);
    if (data) take_data(cycle, *data);
    for (const auto& due : due_)
      if (due && *due <= cycle) throw ProtocolError{"orig_data", "contiguous", ""};
    for (auto& received : received_)
      while (!received.empty() && received.front().second.size() == data_beats(received.front().first)) {
        const auto [beat, beats] = received.front();
        received.pop_front();
        taken(beat, beats);
      }
  }

 private:
  using Entry = std::pair<Beat, std::vector<Beat>>;

  static void check(const Beat& request) {
    const uint64_t cmd = request[CMD], addr = request[ADDR], len = request[LEN];
    if (cmd != READ && cmd != WRITE && cmd != WRITE_FULL && !is_atomic(cmd))
      throw ProtocolError{"req", "command", std::to_string(cmd)};
    const bool unaligned = addr % 4, crosses = is_atomic(cmd) ? beats_of(addr, len) > 1 : (addr >> 2 & 63) + len > 63;
    const bool not_whole = cmd == WRITE_FULL && (addr % LINE_BYTES || len % 16 != 15);
    const uint64_t beats = has_data(cmd) ? beats_of(addr, len) : 1;
    if (unaligned || crosses || not_whole || request[NUM_BEATS] != beats - 1) throw ProtocolError{"req", "request", ""};
  }

  // The Request of ``port`` whose data are not complete; others without data may have come behind it.
  Entry* open(int port) {
    for (Entry& entry : received_[port])
      if (entry.second.size() < data_beats(entry.first)) return &entry;
    return nullptr;
  }

  void take_request(const Beat& request, const std::optional<Beat>& data) {
    const int port = request[PORT_ID];
    check(request);
    if (has_data(request[CMD])) {
      if (open(port)) throw ProtocolError{"req", "data_overlap", ""};
      if (!data || (*data)[PORT_ID] != request[PORT_ID]) throw ProtocolError{"req", "first_data", ""};
    }
    received_[port].push_back({request, {}});
  }

  void take_data(uint64_t cycle, const Beat& data) {
    const int port = data[PORT_ID];
    Entry* owner = open(port);
    if (!owner) throw ProtocolError{"orig_data", "data_owner", ""};
    auto& [request, beats] = *owner;
    if (due_[port] && *due_[port] != cycle) throw ProtocolError{"orig_data", "contiguous", ""};
    const uint64_t number = beats.size(), count = data_beats(request);
    if (data[OFFSET] != number) throw ProtocolError{"orig_data", "offset", ""};
    if (data[LAST] != (number + 1 == count)) throw ProtocolError{"orig_data", "last", ""};
    if (data[VC] != request[VC]) throw ProtocolError{"orig_data", "vc", ""};
    beats.push_back(data);
    due_[port] = data[LAST] ? std::nullopt : std::optional<uint64_t>(cycle + ports_);
  }

  int ports_;
  std::vector<std::deque<Entry>> received_;
  std::vector<std::optional<uint64_t>> due_;
};

// Gathers the beats that answer outstanding Requests.
class ResponseCollector {
 public:
  ResponseCollector(int ports, uint64_t statuses) : ports_(ports), statuses_(statuses), due_(ports) {}

  bool busy() const { return !open_.empty(); }

  void add(const std::shared_ptr<Journey>& journey) {
    const Beat& sent = journey->sent;
    open_[key(sent[PORT_ID], sent[SRC], sent[TAG])] = journey;
  }

  // Gives the journey that the beat completes.
  std::shared_ptr<Journey> take(uint64_t cycle, bool read, const Beat& beat) {
    channel_ = read ? "rd_rsp" : "wr_rsp";
    if (!read && beat[STATUS] == ISOLATE) return nullptr;
    const auto found = open_.find(key(beat[PORT_ID], beat[DST], beat[TAG]));
    if (found == open_.end()) fail("unknown_tag");
    const std::shared_ptr<Journey> journey = found->second;
    if (read != journey->request->reads()) fail("response_channel");
    if (beat[VC] != journey->sent[VC]) fail("vc");
    const bool other = !journey->response.empty() && journey->response[0][STATUS] != beat[STATUS];
    if (!(statuses_ >> beat[STATUS] & 1) || other) fail("status");
    if (read) check_transfer(cycle, beat, journey);
    journey->response.push_back(beat);
    if (read && !beat[LAST]) return nullptr;
    open_.erase(found);
    return journey;
  }

  // Demands the beats that had to come in this cycle.
  void check(uint64_t cycle) {
    channel_ = "rd_rsp";
    for (const auto& due : due_)
      if (due && due->first <= cycle) fail("contiguous");
  }

 private:
  static uint64_t key(uint64_t port, uint64_t accelerator, uint64_t tag) {
    return port << 32 | accelerator << 16 | tag;
  }

  void check_transfer(uint64_t cycle, const Beat& beat, const std::shared_ptr<Journey>& journey) {
    const std::vector<Beat>& response = journey->response;
    const uint64_t offset = beat[OFFSET], num_beats = beat[NUM_BEATS], port = beat[PORT_ID];
    const bool atomic = is_atomic(journey->sent[CMD]);
    const uint64_t count = atomic ? 1 : beats_of(journey->sent[ADDR], journey->sent[LEN]);
    if ((num_beats && num_beats + 1 != count) || (!response.empty() && response[0][NUM_BEATS] != num_beats))
      fail("num_beats");
    bool last;
    if (num_beats) {
      if (!response.empty() && (!due_[port] || *due_[port] != std::pair(cycle, journey.get()))) fail("contiguous");
      due_[port].reset();
      if (offset != response.size()) fail("offset");
      last = offset == num_beats;
      if (!last) due_[port] = std::pair(cycle + ports_, journey.get());
    } else {
      for (const Beat& earlier : response)
        if (earlier[OFFSET] == offset) fail("offset");
      if (offset >= count) fail("offset");
      last = response.size() + 1 == count;
    }
    if (beat[LAST] != last) fail("last");
  }

  [[noreturn]] void fail(const char* rule) const { throw ProtocolError{channel_, rule, ""}; }

  int ports_;
  uint64_t statuses_;
  std::string channel_;
  std::unordered_map<uint64_t, std::shared_ptr<Journey>> open_;
  std::vector<std::optional<std::pair<uint64_t, Journey*>>> due_;
};
