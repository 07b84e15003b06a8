// registry.cpp: which names there may be, and what is called by them.
#include <algorithm>
#include <set>

#include <muster/registry.hpp>

namespace muster {
namespace {

std::string quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}

void check_size(const char* field, const std::string& name, std::vector<BadField>& bad) {
  const std::string most = std::to_string(Registry::kMaxNameBytes);
  if (name.empty()) bad.push_back({field, "empty", "must have 1 to " + most + " bytes"});
  if (name.size() > Registry::kMaxNameBytes) {
    bad.push_back({field, "of " + std::to_string(name.size()) + " bytes",
                   "must have 1 to " + most + " bytes"});
  }
}

void check_count(const char* field, std::size_t count, std::size_t most,
                 std::vector<BadField>& bad) {
  if (count > most) {
    bad.push_back({field, std::to_string(count), "must be at most " + std::to_string(most)});
  }
}

}  // namespace

Registry::Registry() = default;
Registry::~Registry() = default;
Registry::Registry(Registry&&) noexcept = default;
Registry& Registry::operator=(Registry&&) noexcept = default;

void Registry::refuse_empty(const std::string& field) {
  throw InvalidArgument({field, "empty", "must be callable"});
}

void Registry::add_handler(std::string name, std::unique_ptr<detail::Handler> handler) {
  std::vector<BadField> bad;
  check_size("name", name, bad);
  check_count("methods", names_.size() + 1, kMaxMethods, bad);
  if (methods_.contains(name)) {
    bad.push_back({"name", quoted(name), "must not be that of another function"});
  }
  if (!bad.empty()) throw InvalidArgument(std::move(bad));

  // Room first, so that whatever is thrown all three keep the same size.
  const auto make_room = [](auto& list) {
    if (list.size() == list.capacity()) list.reserve(2 * list.size() + 8);
  };
  make_room(names_);
  make_room(handlers_);
  methods_.emplace(name, static_cast<std::uint32_t>(names_.size()));
  names_.push_back(std::move(name));
  handlers_.push_back(std::move(handler));
}

void Registry::on_start(std::function<void()> hook) {
  if (!hook) refuse_empty("on_start");
  start_hooks_.push_back(std::move(hook));
}

void Registry::after_task(std::function<void(const TaskContext&)> hook) {
  if (!hook) refuse_empty("after_task");
  after_task_hooks_.push_back(std::move(hook));
}

void Registry::capabilities(std::vector<std::string> names) {
  std::vector<BadField> bad;
  check_count("capabilities", names.size(), kMaxCapabilities, bad);
  std::set<std::string_view> known;
  for (const std::string& name : names) {
    check_size("capabilities", name, bad);
    if (!known.insert(name).second) {
      bad.push_back({"capabilities", quoted(name), "must be there only once"});
    }
  }
  if (!bad.empty()) throw InvalidArgument(std::move(bad));
  capabilities_ = std::move(names);
}

std::optional<std::uint32_t> Registry::method(std::string_view name) const {
  const auto found = methods_.find(name);
  if (found == methods_.end()) return std::nullopt;
  return found->second;
}

Bytes Registry::run(std::uint32_t method, TaskContext& context, const Bytes& payload) const {
  if (method >= handlers_.size()) {
    throw InvalidArgument(
        {"method", std::to_string(method), "must be below " + std::to_string(handlers_.size())});
  }
  return handlers_[method]->run(context, payload);
}

void Registry::run_start_hooks() const {
  for (const auto& hook : start_hooks_) hook();
}

bool Registry::run_after_task_hooks(const TaskContext& context) const {
  for (const auto& hook : after_task_hooks_) hook(context);
  return !after_task_hooks_.empty();
}

namespace detail {

Handler::~Handler() = default;

void rethrow_within_task(const CodecError& error, const TaskContext& context) {
  throw error.within("task " + quoted(context.name()));
}

}  // namespace detail
}  // namespace muster
