// Jobs as threads do them; exit status 0 if all was as it should be.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "jobs.h"

namespace {

struct Task : Job {
  std::function<void()> what;

  Task(size_t weight, std::function<void()> what) : Job(weight), what(std::move(what)) { Jobs::all().add(*this); }
  void run() override { what(); }
};

void expect(bool right, const char* what) {
  if (right) return;
  std::printf("%s\n", what);
  std::exit(1);
}

}  // namespace

int main() {
  Jobs& jobs = Jobs::all();
  std::atomic<int> met{0}, begun{0};
  std::atomic<bool> go_on{false};
  std::vector<int> order, counts(16);
  int inner_runs = 0;
  bool at_once = true;

  // Each returns when the other has begun.
  const auto meet = [&met] {
    for (met += 1; met % 2; ) std::this_thread::yield();
  };
  Task one(5, meet), other(6, meet);
  Task inner(1, [&] { ++inner_runs; });
  Task outer(2, [&] {
    const int before = inner_runs;
    jobs.start(inner);
    at_once = at_once && inner_runs == before + 1;
    jobs.finish(inner);
  });
  Task blocker(100, [&] {
    begun += 1;
    while (!go_on) std::this_thread::yield();
  });
  Task light(3, [&] { order.push_back(3); }), heavy(9, [&] { order.push_back(9); }), middle(4, [&] { order.push_back(4); });
  std::vector<std::unique_ptr<Task>> many;
  for (size_t n = 0; n < counts.size(); ++n) many.push_back(std::make_unique<Task>(n, [&counts, n] { ++counts[n]; }));

  for (int round = 0; round < 20000; ++round) {
    for (auto& task : many) jobs.start(*task);
    for (size_t n = 0; n < many.size(); ++n) {
      const size_t chosen = (n * 7 + round) % many.size();
      jobs.finish(*many[chosen]);
      expect(counts[chosen] == round + 1, "a job was not done once when it was finished");
    }
    // A helper has gone to sleep.
    if (round % 5000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  for (int round = 0; round < 100; ++round) {
    jobs.start(one);
    jobs.start(other);
    jobs.finish(one);
    jobs.finish(other);
    jobs.start(outer);
    jobs.finish(outer);
    jobs.finish(outer);
  }
  expect(met == 200, "two jobs were not done at a time");
  expect(at_once && inner_runs == 100, "a job that a job started was not done at once");

  // The only helper is busy, so that this thread takes what waits.
  jobs.start(blocker);
  while (begun == 0) std::this_thread::yield();
  for (Task* task : {&light, &heavy, &middle}) jobs.start(*task);
  expect(order.empty(), "a job was done before anybody had time");
  jobs.finish(light);
  jobs.finish(middle);
  expect(order == std::vector<int>({9, 4, 3}), "a heavier job waited for a lighter one");
  go_on = true;
  jobs.finish(blocker);
  return 0;
}
