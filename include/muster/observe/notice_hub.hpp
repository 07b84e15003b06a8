// notice_hub.hpp: from where something happens to all who want to know.
//
//     NoticeHub hub;
//     NoticeStream stream = hub.subscribe();
//     hub.publish([&] { return WorkerAdded{.worker = 3}; });      // on any thread
//     while (!stream.ended()) {                                   // on a thread of the subscriber
//       if (const std::optional<Notice> notice = stream.next(1s)) log << to_text(*notice);
//     }
//
// Who publishes never waits for who reads: each stream holds so many notices, and then loses its
// oldest for each new one; lost() tells how many. While nobody subscribes, publishing is one load.
//
// Thread safety: a NoticeHub by any thread, a NoticeStream by one at a time.
// Lifetime: hub and streams may end in any order; a stream still gives what was published before.
// Ordering: each stream gets the notices in the order of their sequence numbers; a gap is what it
// has lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/base/log.hpp>
#include <muster/observe/notice.hpp>
#include <muster/sync/atomic.hpp>

namespace muster {

class NoticeBoard;
class NoticeMailbox;

// What one subscriber gets, from now on until it is destroyed.
class MUSTER_API NoticeStream {
 public:
  // The one moved from may only be destroyed or assigned to.
  NoticeStream(NoticeStream&&) noexcept;
  NoticeStream& operator=(NoticeStream&&) noexcept;
  ~NoticeStream();

  // The oldest notice that waits, if any.
  std::optional<Notice> try_next();

  // Waits for one; none if there was none in time, or the stream has ended. Throws InvalidArgument
  // if `timeout` is negative; a very long one means "never".
  std::optional<Notice> next(Duration timeout);

  // True if the hub is gone and nothing waits: there will be no more.
  [[nodiscard]] bool ended() const;

  // Notices that this stream had no room for.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  friend class NoticeHub;
  explicit NoticeStream(std::unique_ptr<NoticeMailbox> mailbox) noexcept;

  std::unique_ptr<NoticeMailbox> mailbox_;
};

class MUSTER_API NoticeHub {
 public:
  static constexpr std::size_t kMaxCapacity = 1'048'576;

  NoticeHub();
  ~NoticeHub();
  NoticeHub(const NoticeHub&) = delete;
  NoticeHub& operator=(const NoticeHub&) = delete;

  // Tells every subscriber what `make` gives; it is called only if there is one. If it throws, or
  // memory is short, the exception comes out and nobody is told.
  template <class Make>
    requires std::is_invocable_r_v<News, Make&>
  void publish(Make&& make) {
    // relaxed: who subscribes at the same moment may get this notice or not.
    if (subscribers_.load(relaxed) != 0) deliver(std::invoke(make));
  }

  // The same for those whose work goes on whatever happens: what goes wrong is logged.
  template <class Make>
  void tell(const Make& make) noexcept {
    try {
      publish(make);
    } catch (const std::exception& error) {
      MUSTER_LOG(LogLevel::warning, "subscribers could not be told: " << error.what());
    }
  }

  // Throws InvalidArgument unless 1 <= capacity <= kMaxCapacity. A place takes 16 bytes.
  [[nodiscard]] NoticeStream subscribe(std::size_t capacity = 1024);

 private:
  void deliver(News news);

  // Fixed at construction.
  const std::shared_ptr<NoticeBoard> board_;
  const Atomic<std::size_t>& subscribers_;  // of the board
};

}  // namespace muster
