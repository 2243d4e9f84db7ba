// An accelerator with its memory: ``Accelerator`` and ``PodBench`` of ``ualink_sim.pod``, and what ``Completer`` of
// ``ualink_sim.model.upli`` does with a Request.
#pragma once

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "agents.h"
#include "random.h"

// The memory of an accelerator, zeros at the start, and the lines that were read or written.
class Memory {
 public:
  Line& line(uint64_t address) { return lines_[address]; }

  // Lines in the order of their addresses.
  void tell(Output& output) const {
    output.number(lines_.size());
    for (const auto& [address, line] : std::map<uint64_t, Line>(lines_.begin(), lines_.end())) {
      output.number(address);
      output.bytes(std::string(reinterpret_cast<const char*>(line.data()), LINE_BYTES));
    }
  }

 private:
  std::unordered_map<uint64_t, Line> lines_;
};

// The fate of a request.
struct Fate {
  std::optional<uint64_t> issued, completed;
  Outcome outcome;
  std::string mismatch;
};

// What accelerators know of one another.
struct Traffic {
  std::vector<Request> requests;
  std::vector<Fate> fates;      // by place in ``requests``
  std::vector<bool> completed;  // by line
  uint64_t done = 0;
  std::unordered_map<Key, std::shared_ptr<Journey>, KeyHash> outstanding;
  std::map<std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>, uint64_t> last;

  // Notes that ``request`` is executed now; what is wrong with that, as ``Reference.out_of_order``.
  std::string out_of_order(const Request& request, uint64_t port) {
    uint64_t& last_line = last[{request.src, request.dst, port, request.way}];
    const uint64_t before = last_line;
    last_line = std::max(before, request.line);
    if (request.line > before) return "";
    if (request.line == before) return "executed twice";
    return "executed after line " + std::to_string(before) + " of the same pair";
  }
};

class Accelerator {
 private:
  InterfaceSignals up_, down_;

 public:
  Originator originator;
  Completer completer;
  Memory memory;

  Accelerator(Signals& signals, uint64_t number, int ports, Traffic& traffic, Input& input)
      : up_(signals, input),
        down_(signals, input),
        originator(up_, ports, input),
        completer(down_, ports, input, [this](const Beat& request, const auto& data) { return answer(request, data); }),
        number_(number),
        ports_(ports),
        traffic_(traffic),
        authentication_(input.number()),
        tags_(input) {}

  // Takes the requests of this source.
  void give() {
    for (const Request& request : traffic_.requests) {
      if (request.src != number_) continue;
      size_t way = 0;
      while (way < ways_.size() && ways_[way].front()->way != request.way) ++way;
      if (way == ways_.size()) ways_.emplace_back();
      ways_[way].push_back(&request);
    }
  }

  void tick(uint64_t cycle) {
    issue();
    const auto ended = originator.tick(cycle);
    completer.tick(cycle);
    for (const auto& journey : ended) {
      in_flight_ -= 1;
      journey->completed = cycle;
      traffic_.outstanding.erase(key(journey->sent));
    }
    for (const auto& journey : originator.issued) {
      journey->issued = cycle;
      traffic_.outstanding[key(journey->sent)] = journey;
      traffic_.fates[journey->request - traffic_.requests.data()].issued = cycle;
    }
    originator.issued.clear();
    for (const auto& journey : ended) end(*journey);
  }

 private:
  static constexpr size_t READY_REQUESTS = 4;
  static constexpr uint64_t ADD_32 = 0;  // ReqAttr

  static Key key(const Beat& request) { return {request[SRC], request[PORT_ID], request[TAG]}; }

  uint64_t draw_tag() { return authentication_ ? tags_.bits() : 0; }

  // Hands on requests, in order per way, ways in turn.
  void issue() {
    for (size_t step = 0; step < ways_.size(); ++step) {
      if (originator.backlog() >= READY_REQUESTS) return;
      const size_t way = (turn_ + step) % ways_.size();
      if (ways_[way].empty() || !may_go(*ways_[way].front())) continue;
      start(*ways_[way].front());
      ways_[way].pop_front();
      turn_ = (way + 1) % ways_.size();
      return;
    }
  }

  bool may_go(const Request& request) const {
    if (in_flight_ >= request.window) return false;
    for (const uint64_t line : request.after)
      if (!traffic_.completed[line]) return false;
    return true;
  }

  void start(const Request& request) {
    auto journey = std::make_shared<Journey>();
    journey->request = &request;
    journey->port = request.addr >> 8 & (ports_ - 1);
    const uint64_t len = request.len / 4 - 1, beats = has_data(request.cmd) ? beats_of(request.addr, len) : 1;
    Beat& beat = journey->sent;
    beat[CMD] = request.cmd;
    beat[ADDR] = request.addr;
    beat[LEN] = len;
    beat[ATTR] = request.attr;
    beat[NUM_BEATS] = beats - 1;
    beat[SRC] = request.src;
    beat[DST] = request.dst;
    beat[AUTH_TAG] = draw_tag();
    if (has_data(request.cmd)) {
      std::string image(LINE_BYTES * beats, '\0');
      image.replace(request.addr % LINE_BYTES, request.len, request.data);
      for (uint64_t n = 0; n < beats; ++n) {
        Beat data;
        std::memcpy(data.data.data(), image.data() + LINE_BYTES * n, LINE_BYTES);
        data[BYTE_EN] = lanes(request.addr, len, n);
        data[OFFSET] = n;
        data[LAST] = n == beats - 1;
        journey->data.push_back(data);
      }
    }
    in_flight_ += 1;
    originator.submit(journey);
  }

  // Carries out what has arrived, and gives the Response.
  std::vector<Beat> answer(const Beat& request, const std::vector<Beat>& data) {
    const auto found = traffic_.outstanding.find(key(request));
    if (found == traffic_.outstanding.end())
      throw ProtocolError{"", "",
                          "accelerator " + std::to_string(number_) + " received a Request that nobody has outstanding"};
    Journey& journey = *found->second;
    if (journey.request->dst != number_)
      journey.fault = "the Request arrived at accelerator " + std::to_string(number_);
    journey.arrive(request, data);
    if (journey.fault.empty()) journey.fault = traffic_.out_of_order(*journey.request, journey.port);
    std::vector<Beat> response = execute(request, data);
    journey.expected = journey.outcome_of(response);
    journey.response_tag = draw_tag();
    for (Beat& beat : response) beat[AUTH_TAG] = journey.response_tag;
    return response;
  }

  std::vector<Beat> execute(const Beat& request, const std::vector<Beat>& data) {
    const uint64_t addr = request[ADDR], len = request[LEN], beats = beats_of(addr, len);
    const uint64_t first = addr - addr % LINE_BYTES;
    Beat echo;
    echo[TAG] = request[TAG];
    echo[SRC] = request[DST];
    echo[DST] = request[SRC];
    echo[VC] = request[VC];
    if (request[CMD] == READ) {
      std::vector<Beat> response(beats, echo);
      for (uint64_t n = 0; n < beats; ++n) {
        copy(memory.line(first + LINE_BYTES * n), response[n].data, lanes(addr, len, n));
        response[n][OFFSET] = n;
        response[n][NUM_BEATS] = beats - 1;
        response[n][LAST] = n == beats - 1;
      }
      return response;
    }
    if (is_atomic(request[CMD])) return add(request, data[0], echo);
    bool corrupt = false;
    for (uint64_t n = 0; n < beats; ++n) {
      Line& line = memory.line(first + LINE_BYTES * n);
      corrupt |= data[n][ERROR];
      // A corrupt beat changes nothing and makes the write fail (ruling A-15).
      if (!data[n][ERROR]) copy(data[n].data, line, data[n][BYTE_EN] & lanes(addr, len, n));
    }
    echo[STATUS] = corrupt ? TARGET_ABORT : OKAY;
    return {echo};
  }

  // Adds to elements of 32 bit, and gives what was there (``Completer._atomic`` of ``ualink_sim.model.upli``).
  std::vector<Beat> add(const Beat& request, const Beat& data, Beat answer) {
    const uint64_t addr = request[ADDR], enabled = data[BYTE_EN] & lanes(addr, request[LEN], 0);
    bool refused = data[ERROR] || request[ATTR] != ADD_32;
    for (uint64_t n = 0; n < data.data.size(); ++n) {
      const uint64_t element = enabled >> 4 * n & 15;
      refused |= element && element != 15;
    }
    answer[LAST] = 1;
    answer[STATUS] = refused ? TARGET_ABORT : OKAY;
    if (refused) {
      answer.data.fill(~0u);
      return {answer};
    }
    Line& line = memory.line(addr - addr % LINE_BYTES);
    for (uint64_t n = 0; n < line.size(); ++n) {
      if (!(enabled >> 4 * n & 1)) continue;
      answer.data[n] = line[n];
      line[n] += data.data[n];
    }
    return {answer};
  }

  static void copy(const Line& from, Line& to, uint64_t lanes) {
    const auto* source = reinterpret_cast<const char*>(from.data());
    auto* target = reinterpret_cast<char*>(to.data());
    for (uint64_t lane = 0; lane < LINE_BYTES; ++lane)
      if (lanes >> lane & 1) target[lane] = source[lane];
  }

  // Judges a journey that has ended.
  void end(const Journey& journey) {
    Fate& fate = traffic_.fates[journey.request - traffic_.requests.data()];
    fate.completed = journey.completed;
    fate.outcome = journey.outcome();
    fate.mismatch = mismatch(journey, fate.outcome);
    traffic_.completed[journey.request->line] = true;
    traffic_.done += 1;
  }

  static std::string mismatch(const Journey& journey, const Outcome& got) {
    if (!journey.expected) return "answered although nobody executed it";
    if (!journey.fault.empty()) return journey.fault;
    const std::string wrong = difference(*journey.request, *journey.expected, got);
    if (!wrong.empty()) return wrong;
    for (const Beat& beat : journey.response)
      if (beat[AUTH_TAG] != journey.response_tag) return "the Response arrived with another auth_tag";
    return "";
  }

  static std::string name_of(uint64_t status) {
    switch (status) {
      case 0:
        return "OKAY";
      case 2:
        return "TARGET_ABORT";
      case 3:
        return "DECODE_ERROR";
      case 6:
        return "PROTECTION_VIOLATION";
      default:
        return "CMPTO";
    }
  }

  static std::string difference(const Request& request, const Outcome& expected, const Outcome& got) {
    char text[80];
    if (got.status != expected.status) return "status is " + name_of(got.status) + ", not " + name_of(expected.status);
    for (size_t at = 0; at < got.data.size(); ++at) {
      const uint8_t here = got.data[at], there = expected.data[at];
      if (here == there) continue;
      std::snprintf(text, sizeof text, "byte 0x%lx is %02x, not %02x", request.addr + at, here, there);
      return text;
    }
    return "";
  }

  uint64_t number_;
  int ports_;
  Traffic& traffic_;
  bool authentication_;
  Random tags_;
  std::vector<std::deque<const Request*>> ways_;
  size_t turn_ = 0;
  uint64_t in_flight_ = 0;
};
