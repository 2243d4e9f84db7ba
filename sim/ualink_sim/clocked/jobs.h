// Work of one time step that several processors do at once.

#ifndef UALINK_JOBS_H
#define UALINK_JOBS_H

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

// What one thread does at a time. Heavier ones begin first, so that no thread is left with a long one at the end.
class Job {
 public:
  explicit Job(size_t weight) : weight_(weight) {}
  virtual ~Job() = default;
  virtual void run() = 0;

 private:
  friend class Jobs;
  enum State { DONE, WAITING, RUNNING };

  const size_t weight_;
  std::atomic<State> state_{DONE};
};

// Jobs that the simulator's thread starts, done by it and by helpers. UALINK_THREADS says how many threads there are
// in all, or else the number of processors that this process may use. What a job starts is done at once.
class Jobs {
 public:
  // Of this process. It is never destroyed: helpers end with the process.
  static Jobs& all() {
    static Jobs* const jobs = new Jobs;
    return *jobs;
  }

  // Whether UALINK_CHECK_INPUTS is set: blocks then look in each cycle whether inputs act that should not.
  bool checks() const { return checks_; }

  // Before any is started: a job that may be.
  void add(Job& job) {
    const auto lighter = [&job](const Job* other) { return other->weight_ < job.weight_; };
    jobs_.insert(std::find_if(jobs_.begin(), jobs_.end(), lighter), &job);
  }

  void start(Job& job) {
    if (threads_ == 1 || doing_) return job.run();
    if (!helping_) help();
    job.state_.store(Job::WAITING);
    waiting_ += 1;
    if (asleep_ > 0) {
      std::lock_guard<std::mutex> lock(mutex_);
      wake_.notify_one();
    }
  }

  // Returns when it is done; this thread does what waits until then.
  void finish(Job& job) {
    for (int rests = 0; job.state_.load(std::memory_order_acquire) != Job::DONE;) {
      rests = take() ? 0 : rest(rests);
    }
  }

 private:
  // A helper that finds nothing to do for so long goes to sleep: longer than from one step to the next.
  static constexpr std::chrono::microseconds PATIENCE{500};
  // Short rests, some 20 us together, before who waits for something offers its processor to others.
  static constexpr int MOMENTS = 64;

  Jobs() : checks_(std::getenv("UALINK_CHECK_INPUTS")) {
    const char* given = std::getenv("UALINK_THREADS");
    threads_ = std::max(given ? std::atoi(given) : processors(), 1);
  }

  static int processors() {
#ifdef __linux__
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) == 0) return CPU_COUNT(&usable);
#endif
    return std::thread::hardware_concurrency();
  }

  void help() {
    helping_ = true;
    for (size_t n = 1; n < std::min<size_t>(threads_, jobs_.size()); ++n) std::thread([this] { work(); }).detach();
  }

  // Does a job that waits; false if there is none.
  bool take() {
    if (waiting_ == 0) return false;
    for (Job* job : jobs_) {
      Job::State expected = Job::WAITING;
      if (job->state_.load(std::memory_order_relaxed) != expected) continue;
      if (!job->state_.compare_exchange_strong(expected, Job::RUNNING)) continue;
      waiting_ -= 1;
      doing_ = true;
      job->run();
      doing_ = false;
      job->state_.store(Job::DONE, std::memory_order_release);
      return true;
    }
    return false;
  }

  void work() {
    for (;;) {
      using Clock = std::chrono::steady_clock;
      Clock::time_point since = Clock::now();
      for (int rests = 0; rests == 0 || Clock::now() - since < PATIENCE;) {
        rests = take() ? 0 : rest(rests);
        if (rests == 0) since = Clock::now();
      }
      std::unique_lock<std::mutex> lock(mutex_);
      asleep_ += 1;
      wake_.wait(lock, [this] { return waiting_ > 0; });
      asleep_ -= 1;
    }
  }

  // One more of ``rests``: first for a moment, in which what another thread does ends; then whoever waits for the
  // processor gets it, for the other thread may be one of those.
  static int rest(int rests) {
#ifdef __x86_64__
    if (rests < MOMENTS) {
      for (int n = 0; n < 8; ++n) __builtin_ia32_pause();
      return rests + 1;
    }
#endif
    std::this_thread::yield();
    return rests + 1;
  }

  static inline thread_local bool doing_ = false;
  const bool checks_;
  int threads_;
  bool helping_ = false;
  std::vector<Job*> jobs_;
  std::atomic<int> waiting_{0}, asleep_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
};

#endif
