// receiver.hpp: an HTTP server on the loopback that does as it is told, and remembers what it got.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <muster/sync/mutex.hpp>

namespace muster {

class Receiver {
 public:
  struct Request {
    std::string path;
    std::string body;
    std::map<std::string, std::string> headers;
  };
  struct Reply {
    unsigned status = 200;
    std::string body = "{}";
    std::string retry_after = {};
  };
  // By the number of the request, from 0 on. None: it is never answered.
  using Script = std::function<std::optional<Reply>(std::size_t)>;

  // Content with everything.
  Receiver() : Receiver([](std::size_t) { return Reply(); }) {}
  explicit Receiver(Script script)
      : script_(std::move(script)),
        acceptor_(context_, {boost::asio::ip::address_v4::loopback(), 0}),
        endpoint_("http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port())) {
    boost::asio::co_spawn(context_, accept(), boost::asio::detached);
    thread_ = std::thread([this] { context_.run(); });
  }
  ~Receiver() {
    context_.stop();
    thread_.join();
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  const std::string& endpoint() const { return endpoint_; }

  // All of them, once there are as many.
  std::vector<Request> requests(std::size_t count) MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (requests_.size() < count) arrived_.wait(mutex_);
    return requests_;
  }

 private:
  using Socket = boost::asio::ip::tcp::socket;

  boost::asio::awaitable<void> accept() {
    for (;;) {
      Socket socket = co_await acceptor_.async_accept(boost::asio::use_awaitable);
      boost::asio::co_spawn(context_, serve(std::move(socket)), boost::asio::detached);
    }
  }

  boost::asio::awaitable<void> serve(Socket socket) {
    namespace http = boost::beast::http;
    boost::beast::flat_buffer buffer;
    http::request<http::string_body> request;
    co_await http::async_read(socket, buffer, request, boost::asio::use_awaitable);
    const std::optional<Reply> reply = script_(remember(request));
    if (!reply) {  // until the other side has enough
      co_await http::async_read(socket, buffer, request, boost::asio::use_awaitable);
    }
    http::response<http::string_body> response(http::int_to_status(reply->status), 11);
    if (!reply->retry_after.empty()) response.set(http::field::retry_after, reply->retry_after);
    response.body() = reply->body;
    response.prepare_payload();
    co_await http::async_write(socket, response, boost::asio::use_awaitable);
  }

  template <class Message>
  std::size_t remember(const Message& message) MUSTER_EXCLUDES(mutex_) {
    Request request{.path = message.target(), .body = message.body(), .headers = {}};
    for (const auto& field : message) {
      request.headers[field.name_string()] = std::string(field.value());
    }
    const MutexLock lock(mutex_);
    requests_.push_back(std::move(request));
    arrived_.notify_all();
    return requests_.size() - 1;
  }

  const Script script_;
  boost::asio::io_context context_{1};
  boost::asio::ip::tcp::acceptor acceptor_;
  const std::string endpoint_;
  std::thread thread_;

  // Guarded by mutex_.
  Mutex mutex_;
  ConditionVariable arrived_;
  std::vector<Request> requests_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
