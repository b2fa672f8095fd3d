// A thin C++17 dress for the C interface: owners that free what they hold, and exceptions.
#pragma once

#include "sinew.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sinew {

/// A refusal in the library's own words; `code` is one of SINEW_...
struct Error : std::runtime_error {
  Error(sinew_result code, const std::string &why) : std::runtime_error(why), code(code) {}
  sinew_result code;
};

inline void check(sinew_result result) {
  if (result == SINEW_OK) return;
  std::string why(sinew_last_error(nullptr, 0), '\0');
  sinew_last_error(why.data(), why.size() + 1);
  throw Error(result, why);
}

template <auto Free>
struct Deleter {
  template <typename Handle>
  void operator()(Handle *handle) const { Free(handle); }
};

using Scene = std::unique_ptr<sinew_scene, Deleter<sinew_scene_free>>;
using Setup = std::unique_ptr<sinew_setup, Deleter<sinew_setup_free>>;
using Job = std::unique_ptr<sinew_job, Deleter<sinew_job_free>>;
using Session = std::unique_ptr<sinew_session, Deleter<sinew_session_free>>;
using Report = std::unique_ptr<sinew_report, Deleter<sinew_report_free>>;

/// Calls `function(arguments..., &out)` and owns what comes out: `make<Scene>(sinew_scene_open, ...)`.
template <typename Owner, typename Function, typename... Arguments>
Owner make(Function function, Arguments... arguments) {
  typename Owner::pointer handle = nullptr;
  check(function(arguments..., &handle));
  return Owner(handle);
}

/// Asks for the length, then for the text: `text(sinew_job_report, job.get())`.
template <typename Function, typename... Arguments>
std::string text(Function function, Arguments... arguments) {
  std::size_t length = 0;
  check(function(arguments..., nullptr, 0, &length));
  std::string text(length, '\0');
  check(function(arguments..., text.data(), length + 1, nullptr));
  return text;
}

inline Scene open(std::string_view path) {
  return make<Scene>(sinew_scene_open, path.data(), path.size(), nullptr);
}

}  // namespace sinew
