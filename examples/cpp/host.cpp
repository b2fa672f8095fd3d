// A host in C++17: opens a scene, simulates, reads every pose, bakes, saves. Nothing is freed by hand.
//
//   cargo build --release -p sinew-ffi
//   c++ -std=c++17 -I ffi/include examples/cpp/host.cpp -L target/release -lsinew -Wl,-rpath,$PWD/target/release -o target/host++
//   target/host++ examples/scenes/ball.gltf target/host++.gltf
#include "sinew.hpp"

#include <exception>
#include <iostream>
#include <vector>

namespace {

// Runs on this thread, inside sinew_job_run. It must not throw: there is C in between.
int32_t count_frames(void *user, const sinew_progress *progress) noexcept {
  if (progress->stage == SINEW_STAGE_SIMULATE) *static_cast<uint64_t *>(user) = progress->done;
  return 0;
}

void bake(const std::string &in, const std::string &out) {
  sinew::check(sinew_abi_check(SINEW_ABI_VERSION));
  auto scene = sinew::open(in);
  auto setup = sinew::make<sinew::Setup>(sinew_setup_automatic, scene.get(), nullptr, 0);

  uint64_t frames = 0;
  sinew_callbacks callbacks{};
  callbacks.struct_size = sizeof callbacks;
  callbacks.progress = count_frames;
  callbacks.user = &frames;
  auto job = sinew::make<sinew::Job>(sinew_job_run, scene.get(), setup.get(), nullptr, &callbacks);

  // Every pose of every body, in one copy.
  std::size_t count = 0;
  uint32_t bodies = 0;
  sinew::check(sinew_job_frame_count(job.get(), &count));
  sinew::check(sinew_job_body_count(job.get(), &bodies));
  std::vector<double> poses(count * bodies * 7);
  sinew::check(sinew_job_poses(job.get(), poses.data(), poses.size()));

  const auto report = sinew::text(sinew_job_report, job.get());
  std::cout << frames << " frames, " << bodies << " bodies, last at height " << poses.at(poses.size() - 6) << ", report of "
            << report.size() << " bytes\n";

  sinew::check(sinew_scene_add_job(scene.get(), job.get(), nullptr, 0, 0, nullptr));
  sinew::check(sinew_scene_save(scene.get(), out.data(), out.size()));
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 3) {
    std::cerr << "use: " << arguments[0] << " SCENE OUT\n";
    return 2;
  }
  try {
    bake(arguments[1], arguments[2]);
  } catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
