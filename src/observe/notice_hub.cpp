// notice_hub.cpp: the board that a hub and its streams share, and a mailbox for each stream.
#include <string>
#include <utility>
#include <vector>

#include <muster/error.hpp>
#include <muster/observe/notice_hub.hpp>
#include <muster/sync/blocking.hpp>
#include <muster/sync/future_state.hpp>
#include <muster/sync/mutex.hpp>
#include <muster/sync/player.hpp>

namespace muster {
namespace {

std::size_t checked(std::size_t capacity) {
  if (capacity >= 1 && capacity <= NoticeHub::kMaxCapacity) return capacity;
  throw InvalidArgument({.field = "capacity",
                         .value = std::to_string(capacity),
                         .rule = "must be from 1 to " + std::to_string(NoticeHub::kMaxCapacity)});
}

}  // namespace

// Lives as long as the hub or any stream. Under its one mutex only pointers are moved.
class NoticeBoard {
 public:
  void add(NoticeMailbox& mailbox) MUSTER_EXCLUDES(mutex_);
  void remove(NoticeMailbox& mailbox) noexcept MUSTER_EXCLUDES(mutex_);
  void deliver(News&& news) MUSTER_EXCLUDES(mutex_);
  void close() noexcept MUSTER_EXCLUDES(mutex_);

  // The oldest one; null if there is none.
  std::shared_ptr<const Notice> take(NoticeMailbox& mailbox) noexcept MUSTER_EXCLUDES(mutex_);

  // Until there is one, or there will be none, or the deadline has passed.
  void wait(NoticeMailbox& mailbox, Time deadline) MUSTER_EXCLUDES(mutex_);

  bool would_wait(const NoticeMailbox& mailbox) MUSTER_EXCLUDES(mutex_);
  bool has_ended(const NoticeMailbox& mailbox) MUSTER_EXCLUDES(mutex_);
  std::uint64_t lost(const NoticeMailbox& mailbox) MUSTER_EXCLUDES(mutex_);

  // Any thread.
  Atomic<std::size_t> subscribers = 0;

 private:
  // Guarded by mutex_.
  Mutex mutex_;
  std::vector<NoticeMailbox*> mailboxes_ MUSTER_GUARDED_BY(mutex_);
  std::uint64_t published_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool is_closed_ MUSTER_GUARDED_BY(mutex_) = false;
};

// A ring of notices. Subscribes when made, unsubscribes when destroyed.
class NoticeMailbox {
 public:
  NoticeMailbox(std::shared_ptr<NoticeBoard> board, std::size_t capacity)
      : board_(std::move(board)), ring_(capacity) {
    board_->add(*this);
  }
  ~NoticeMailbox() { board_->remove(*this); }
  NoticeMailbox(const NoticeMailbox&) = delete;
  NoticeMailbox& operator=(const NoticeMailbox&) = delete;

  [[nodiscard]] NoticeBoard& board() const noexcept { return *board_; }

 private:
  friend class NoticeBoard;

  [[nodiscard]] bool is_empty() const noexcept { return first_ == end_; }

  std::shared_ptr<const Notice> take_oldest() noexcept {
    return is_empty() ? nullptr : std::move(ring_[first_++ % ring_.size()]);
  }

  void put(std::shared_ptr<const Notice> notice) noexcept {
    if (end_ - first_ == ring_.size()) {
      take_oldest();
      ++lost_;
    }
    ring_[end_++ % ring_.size()] = std::move(notice);
    arrived_.notify_one();
  }

  // Fixed at construction.
  const std::shared_ptr<NoticeBoard> board_;

  // Guarded by the board's mutex. Places are numbered on and on; a place is used again after a
  // round.
  std::vector<std::shared_ptr<const Notice>> ring_;
  std::uint64_t first_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t lost_ = 0;
  ConditionVariable arrived_;
};

void NoticeBoard::add(NoticeMailbox& mailbox) {
  const MutexLock lock(mutex_);
  mailboxes_.push_back(&mailbox);
  subscribers.store(mailboxes_.size(), relaxed);  // relaxed: says only whether to come here
}

void NoticeBoard::remove(NoticeMailbox& mailbox) noexcept {
  const MutexLock lock(mutex_);
  std::erase(mailboxes_, &mailbox);
  subscribers.store(mailboxes_.size(), relaxed);  // relaxed: as in add()
}

void NoticeBoard::deliver(News&& news) {
  const auto notice = std::make_shared<Notice>();
  notice->news = std::move(news);
  const MutexLock lock(mutex_);
  notice->time = current_time();  // in here, so that times have the order of the numbers
  notice->sequence = ++published_;
  for (NoticeMailbox* const mailbox : mailboxes_) mailbox->put(notice);
}

void NoticeBoard::close() noexcept {
  const MutexLock lock(mutex_);
  is_closed_ = true;
  for (NoticeMailbox* const mailbox : mailboxes_) mailbox->arrived_.notify_one();
}

std::shared_ptr<const Notice> NoticeBoard::take(NoticeMailbox& mailbox) noexcept {
  const MutexLock lock(mutex_);
  return mailbox.take_oldest();
}

void NoticeBoard::wait(NoticeMailbox& mailbox, Time deadline) {
  const MutexLock lock(mutex_);
  while (mailbox.is_empty() && !is_closed_) {
    if (!mailbox.arrived_.wait_until(mutex_, deadline)) return;
  }
}

bool NoticeBoard::would_wait(const NoticeMailbox& mailbox) {
  const MutexLock lock(mutex_);
  return mailbox.is_empty() && !is_closed_;
}

bool NoticeBoard::has_ended(const NoticeMailbox& mailbox) {
  const MutexLock lock(mutex_);
  return mailbox.is_empty() && is_closed_;
}

std::uint64_t NoticeBoard::lost(const NoticeMailbox& mailbox) {
  const MutexLock lock(mutex_);
  return mailbox.lost_;
}

NoticeStream::NoticeStream(std::unique_ptr<NoticeMailbox> mailbox) noexcept
    : mailbox_(std::move(mailbox)) {}
NoticeStream::NoticeStream(NoticeStream&&) noexcept = default;
NoticeStream& NoticeStream::operator=(NoticeStream&&) noexcept = default;
NoticeStream::~NoticeStream() = default;

std::optional<Notice> NoticeStream::try_next() {
  const std::shared_ptr<const Notice> notice = mailbox_->board().take(*mailbox_);
  if (notice == nullptr) return std::nullopt;
  return *notice;  // copied here, where nobody waits for the mutex
}

std::optional<Notice> NoticeStream::next(Duration timeout) {
  const Time deadline = deadline_after(timeout);
  NoticeBoard& board = mailbox_->board();
  if (current_player != nullptr) {
    current_player->play_until([&] { return !board.would_wait(*mailbox_); }, deadline,
                               "waiting for a notice");
  } else if (board.would_wait(*mailbox_)) {
    const BlockingRegion region;  // on a worker of a pool
    board.wait(*mailbox_, deadline);
  }
  return try_next();
}

bool NoticeStream::ended() const {
  return mailbox_->board().has_ended(*mailbox_);
}

std::uint64_t NoticeStream::lost() const {
  return mailbox_->board().lost(*mailbox_);
}

NoticeHub::NoticeHub()
    : board_(std::make_shared<NoticeBoard>()), subscribers_(board_->subscribers) {}

NoticeHub::~NoticeHub() {
  board_->close();
}

NoticeStream NoticeHub::subscribe(std::size_t capacity) {
  return NoticeStream(std::make_unique<NoticeMailbox>(board_, checked(capacity)));
}

void NoticeHub::deliver(News news) {
  board_->deliver(std::move(news));
}

}  // namespace muster
