// blocking.hpp: a thread tells whoever counts on it that it is about to wait.
//
// The workers of a pool have an employer, which puts another thread in the place of one that waits.
// Other threads have none, and a region costs them a load.
//
// Thread safety: each thread has its own.
#pragma once

#include <muster/base/api.hpp>
#include <muster/sync/executor.hpp>

namespace muster {

class MUSTER_API Employer {
 public:
  Employer() = default;
  Employer(const Employer&) = delete;
  Employer& operator=(const Employer&) = delete;

  enum class Cover { stood_in, nobody };

  // The calling thread will wait: another goes on in its place, or there is none left.
  virtual Cover begin_blocking() noexcept = 0;
  virtual void end_blocking() noexcept = 0;

  // Whose tasks its threads run.
  [[nodiscard]] virtual ExecutorId executor_id() const noexcept = 0;

 protected:
  virtual ~Employer();
};

// Who counts on this thread to run tasks; null: nobody.
extern MUSTER_API constinit thread_local Employer* current_employer
    __attribute__((tls_model("initial-exec")));

// Around whatever may wait.
class BlockingRegion {
 public:
  BlockingRegion() noexcept
      : employer_(current_employer),
        cover_(employer_ != nullptr ? employer_->begin_blocking() : Employer::Cover::stood_in) {}
  ~BlockingRegion() {
    if (employer_ != nullptr) employer_->end_blocking();
  }
  BlockingRegion(const BlockingRegion&) = delete;
  BlockingRegion& operator=(const BlockingRegion&) = delete;

  // Whether everybody else's work goes on meanwhile.
  [[nodiscard]] Employer::Cover cover() const noexcept { return cover_; }

 private:
  Employer* const employer_;
  const Employer::Cover cover_;
};

}  // namespace muster
