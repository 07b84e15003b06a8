// error.hpp: the exceptions that muster throws. All derive from Error and carry a code.
//
// An ordinary outcome (full, empty, timed out) is a return value, never an exception, and a broken
// invariant aborts (MUSTER_ASSERT). What is left: the caller asked for something impossible
// (InvalidArgument), or the world failed (SystemFailure).
//
//     try {
//       ThreadPool pool(options);
//     } catch (const muster::InvalidArgument& error) {
//       for (const muster::BadField& bad : error.bad_fields()) show(bad.field, bad.rule);
//     }
//
// Thread safety: immutable after construction; copying never throws and shares the contents.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <muster/base/api.hpp>

namespace muster {

// What kind of failure it is, for code that must branch without naming exception types. The layers
// above append their own; the order carries no meaning.
enum class ErrorCode {
  invalid_argument,
  system_failure,
};

MUSTER_API std::string_view to_string(ErrorCode code);

class MUSTER_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message);
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  ~Error() override;

  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

// One thing wrong with an option or an argument. `rule` reads on from "but":
// {"workers", "5000", "must be at most 4096"}.
struct BadField {
  std::string field;
  std::string value;
  std::string rule;

  bool operator==(const BadField&) const = default;
};

// An option or argument breaks its rule; nothing was started. Lists every problem at once:
// "invalid argument: workers is 5000 but must be at most 4096; steal_max is 0 but ...".
class MUSTER_API InvalidArgument : public Error {
 public:
  explicit InvalidArgument(BadField bad_field);

  // At least one; usually what validate(options) returned.
  explicit InvalidArgument(std::vector<BadField> bad_fields);

  InvalidArgument(const InvalidArgument&) = default;
  InvalidArgument& operator=(const InvalidArgument&) = default;
  ~InvalidArgument() override;

  const std::vector<BadField>& bad_fields() const noexcept { return *bad_fields_; }

 private:
  // Shared, because copying an exception must not throw.
  std::shared_ptr<const std::vector<BadField>> bad_fields_;
};

// The operating system refused. `attempt` reads on from "cannot", `advice` says what to do and may
// be empty: `cannot open "x.db": No space left on device (errno 28); free space and retry`.
class MUSTER_API SystemFailure : public Error {
 public:
  SystemFailure(const std::string& attempt, int error_number, const std::string& advice);
  SystemFailure(const SystemFailure&) = default;
  SystemFailure& operator=(const SystemFailure&) = default;
  ~SystemFailure() override;

  // The errno value.
  int error_number() const noexcept { return error_number_; }

 private:
  int error_number_;
};

}  // namespace muster
