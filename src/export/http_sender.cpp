// http_sender.cpp: connect, write, read; by Boost.Beast.
#include "export/http_sender.hpp"

#include <cstddef>
#include <exception>
#include <string_view>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <muster/version.hpp>

namespace muster {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

// An answer says a sentence or two; what is longer is cut off.
constexpr std::size_t kLongestAnswer = 65'536;

}  // namespace

struct HttpSender::Loop {
  asio::io_context context{1};
};

// One request and its answer.
class HttpSender::Connection {
 public:
  explicit Connection(asio::io_context& context) : resolver_(context), stream_(context) {}

  asio::awaitable<void> exchange(const Endpoint* endpoint,
                                 const http::request<http::string_body>* request) {
    begin("resolve the name");
    const auto addresses =
        co_await resolver_.async_resolve(endpoint->host, endpoint->port, asio::use_awaitable);
    begin("connect");
    co_await stream_.async_connect(addresses, asio::use_awaitable);
    begin("send");
    co_await http::async_write(stream_, *request, asio::use_awaitable);
    begin("get an answer");
    http::response_parser<http::string_body> parser;
    parser.body_limit(kLongestAnswer);
    beast::flat_buffer buffer;
    co_await http::async_read_header(stream_, buffer, parser, asio::use_awaitable);
    answer_.status = parser.get().result_int();
    answer_.retry_after = parser.get()[http::field::retry_after];
    begin("read the answer");
    // The status has decided; a body that is cut off changes nothing.
    co_await http::async_read(stream_, buffer, parser, asio::as_tuple(asio::use_awaitable));
    answer_.body = parser.get().body();
  }

  // `why` the step under way was not completed.
  void fail(std::string_view why) {
    answer_.error = "cannot " + std::string(step_) + ": " + std::string(why);
  }

  void cancel() {
    is_cancelled_ = true;
    resolver_.cancel();
    stream_.close();
  }

  HttpAnswer take() { return std::move(answer_); }

 private:
  // Ends here if it was cancelled between two steps: nothing would end the next one.
  void begin(std::string_view step) {
    if (is_cancelled_) throw boost::system::system_error(asio::error::operation_aborted);
    step_ = step;
  }

  asio::ip::tcp::resolver resolver_;
  beast::tcp_stream stream_;
  bool is_cancelled_ = false;
  std::string_view step_ = "start";
  HttpAnswer answer_;
};

HttpSender::HttpSender(Endpoint endpoint, Headers headers)
    : endpoint_(std::move(endpoint)),
      headers_(std::move(headers)),
      loop_(std::make_unique<Loop>()) {}

HttpSender::~HttpSender() = default;

HttpAnswer HttpSender::post(const std::string& path, const std::string& body,
                            const std::function<Time()>& deadline) {
  const bool is_address = endpoint_.host.find(':') != std::string::npos;
  http::request<http::string_body> request(http::verb::post, endpoint_.path + path, 11);
  request.set(http::field::host,
              (is_address ? "[" + endpoint_.host + "]" : endpoint_.host) + ":" + endpoint_.port);
  request.set(http::field::user_agent, "muster/" MUSTER_VERSION);
  request.set(http::field::content_type, "application/json");
  for (const auto& [name, value] : headers_) request.set(name, value);
  request.keep_alive(false);
  request.body() = body;
  request.prepare_payload();

  asio::io_context& context = loop_->context;
  Connection connection(context);
  bool is_done = false;
  asio::co_spawn(context, connection.exchange(&endpoint_, &request),
                 [&](const std::exception_ptr& failure) {
                   is_done = true;
                   try {
                     if (failure) std::rethrow_exception(failure);
                   } catch (const boost::system::system_error& error) {
                     connection.fail(error.code().message());
                   } catch (const std::exception& error) {
                     connection.fail(error.what());
                   }
                 });
  context.restart();
  while (!is_done) {
    const Time until = deadline();
    if (Time::clock::now() >= until) {
      connection.cancel();
      while (!is_done) {  // an interruption ends run() early
        context.restart();
        context.run();
      }
      connection.fail("it takes too long");
    } else {
      context.run_until(until);
      context.restart();  // after an interruption it would not run again
    }
  }
  return connection.take();
}

void HttpSender::interrupt() {
  loop_->context.stop();
}

}  // namespace muster
