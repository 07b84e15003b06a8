// registry.hpp: what a worker program can do.
//
//     muster::Registry registry;
//     registry.add("resize", [](const Image& image) -> Thumb { ... });
//     registry.add("sum", [](int a, int b) { return a + b; });
//     registry.add("echo", [](const muster::Bytes& payload) { return payload; });
//     registry.add("scan", [](muster::TaskContext& context, const std::string& path) { ... });
//     registry.on_start([] { load_model(); });
//     registry.capabilities({"gpu", "eu"});
//     muster::worker_main(argc, argv, registry);
//
// A handler is a function, a lambda or another object with one call operator that is no template.
// It may take the TaskContext first. Its other parameters are decoded and its result is encoded as
// payload.hpp says. It takes them by value or by reference to const; a std::string_view is one of
// the argument, for as long as the call lasts.
//
// A worker runs one task at a time. What a handler throws fails its task, not the worker.
//
// Thread safety: none while something is added; then any thread may look, and one at a time run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/bytes.hpp>
#include <muster/detail/handler.hpp>
#include <muster/error.hpp>
#include <muster/payload.hpp>
#include <muster/task_context.hpp>

namespace muster {

class MUSTER_API Registry {
 public:
  // Of a name or capability.
  static constexpr std::size_t kMaxNameBytes = 255;
  static constexpr std::size_t kMaxMethods = 4096;
  static constexpr std::size_t kMaxCapabilities = 64;

  Registry();
  ~Registry();
  Registry(Registry&&) noexcept;
  Registry& operator=(Registry&&) noexcept;

  // Throws InvalidArgument if the name is empty, too long or taken, if the function is an empty
  // std::function or a null pointer, or if there are too many.
  template <class F>
  void add(std::string name, F&& function) {
    using Function = std::decay_t<F>;
    static_assert(detail::HasSignature<Function>,
                  "muster: a handler is a function, or an object with one call operator that is no "
                  "template");
    if (detail::is_empty_function(function)) refuse_empty("function of \"" + name + '"');
    add_handler(std::move(name),
                std::make_unique<detail::TypedHandler<Function>>(std::forward<F>(function)));
  }

  // Called in each worker before it is ready, in the order they were given. If one throws, the
  // worker never is. Throws InvalidArgument if the function is empty.
  void on_start(std::function<void()> hook);

  // Called after each task, also after one that threw. What it throws ends the worker.
  // Throws InvalidArgument if the function is empty.
  void after_task(std::function<void(const TaskContext&)> hook);

  // What its workers have that others may not; tasks can ask for it. Replaces those given before.
  // Throws InvalidArgument if one is empty, too long or there twice, or if there are too many.
  void capabilities(std::vector<std::string> names);
  [[nodiscard]] const std::vector<std::string>& capabilities() const noexcept {
    return capabilities_;
  }

  // In the order they were added. A method is known by its place here.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] std::optional<std::uint32_t> method(std::string_view name) const;

  // For whoever runs tasks. Calls the handler and throws what that throws. Throws CodecError, which
  // names the task, if the payload is not what the handler takes; InvalidArgument if there is no
  // such method.
  [[nodiscard]] Bytes run(std::uint32_t method, TaskContext& context, const Bytes& payload) const;

  // Call the hooks, and throw what one throws; those behind it are not called.
  void run_start_hooks() const;
  bool run_after_task_hooks(const TaskContext& context) const;  // false: there are none

 private:
  [[noreturn]] static void refuse_empty(const std::string& field);
  void add_handler(std::string name, std::unique_ptr<detail::Handler> handler);

  std::vector<std::string> names_;
  std::vector<std::unique_ptr<detail::Handler>> handlers_;
  std::map<std::string, std::uint32_t, std::less<>> methods_;
  std::vector<std::function<void()>> start_hooks_;
  std::vector<std::function<void(const TaskContext&)>> after_task_hooks_;
  std::vector<std::string> capabilities_;
};

}  // namespace muster
