// http_sender.hpp: one HTTP request at a time, over a connection of its own.
//
// Thread safety: post() by one thread at a time; interrupt() by any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <muster/base/clock.hpp>

#include "export/endpoint.hpp"
#include "export/retry.hpp"

namespace muster {

class HttpSender {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  HttpSender(Endpoint endpoint, Headers headers);
  ~HttpSender();
  HttpSender(const HttpSender&) = delete;
  HttpSender& operator=(const HttpSender&) = delete;

  // Sends JSON to endpoint.path + `path` and waits for the answer, until deadline() has passed.
  // What goes wrong is told by the answer.
  HttpAnswer post(const std::string& path, const std::string& body,
                  const std::function<Time()>& deadline);

  // Makes post() look at its deadline again.
  void interrupt();

 private:
  class Connection;

  // Fixed at construction.
  const Endpoint endpoint_;
  const Headers headers_;

  // Any thread.
  struct Loop;
  const std::unique_ptr<Loop> loop_;
};

}  // namespace muster
