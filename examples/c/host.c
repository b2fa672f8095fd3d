/* A host in C11, in three parts: a job on a file, a live session, and a scene that only exists in memory.
 *
 *   cargo build --release -p sinew-ffi
 *   cc -std=c11 -I ffi/include examples/c/host.c -L target/release -lsinew -lm -Wl,-rpath,$PWD/target/release -o target/host
 *   target/host examples/scenes/ball.gltf target/host.gltf
 */
#include "sinew.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends with the library's own words when a call fails. */
static void check(sinew_result result, const char *doing) {
  if (result == SINEW_OK) return;
  char why[1024];
  sinew_last_error(why, sizeof why);
  fprintf(stderr, "%s: %s (%s)\n", doing, why, sinew_result_name(result));
  exit(1);
}

static void *room(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory) exit(1);
  return memory;
}

/* Shows progress in place; returning something else than 0 would cancel. */
static int32_t show(void *user, const sinew_progress *progress) {
  uint64_t *frames = user;
  if (progress->stage == SINEW_STAGE_SIMULATE) *frames = progress->done;
  return 0;
}

/* The whole shot at once: curves go into the scene as a new clip, and the scene into a file. */
static void bake(sinew_scene *scene, const char *out) {
  sinew_setup *setup = NULL;
  check(sinew_setup_automatic(scene, NULL, 0, &setup), "making a set-up");

  uint64_t frames = 0;
  sinew_callbacks callbacks = {.struct_size = sizeof callbacks, .progress = show, .user = &frames};
  sinew_job *job = NULL;
  check(sinew_job_run(scene, setup, NULL, &callbacks, &job), "simulating");

  uint32_t curves = 0;
  size_t length = 0;
  check(sinew_job_curve_count(job, &curves), "counting curves");
  check(sinew_job_report(job, NULL, 0, &length), "measuring the report");
  char *report = room(length + 1, 1);
  check(sinew_job_report(job, report, length + 1, NULL), "reading the report");
  printf("job: %llu frames, %u curves\n", (unsigned long long)frames, (unsigned)curves);

  check(sinew_scene_add_job(scene, job, NULL, 0, 0, NULL), "adding the clip");
  check(sinew_scene_save(scene, out, strlen(out)), "saving");
  free(report);
  sinew_job_free(job);
  sinew_setup_free(setup);
}

/* Frame by frame, as a viewport would, with a setting changed on the way. */
static void play(const sinew_scene *scene) {
  sinew_session *session = NULL;
  check(sinew_session_create(scene, NULL, &session), "beginning a session");
  uint32_t bodies = 0;
  check(sinew_session_body_count(session, &bodies), "counting bodies");
  double *poses = room(bodies, 7 * sizeof *poses);
  double *forces = room(bodies, 6 * sizeof *forces);
  uint32_t *saturated = room(bodies, sizeof *saturated);

  for (int frame = 0; frame < 12; ++frame) {
    if (frame == 6) check(sinew_session_set(session, 0, SINEW_SETTING_BLEND, 0.5), "changing a setting");
    check(sinew_session_step_frame(session), "stepping");
    check(sinew_session_poses(session, poses, 7 * (size_t)bodies), "reading poses");
    check(sinew_session_forces(session, forces, 6 * (size_t)bodies, saturated, bodies), "reading forces");
  }
  double time = 0;
  check(sinew_session_time(session, &time), "reading the time");
  printf("session: body 0 at %.3f %.3f %.3f after %.3f s\n", poses[0], poses[1], poses[2], time);
  free(saturated);
  free(forces);
  free(poses);
  sinew_session_free(session);
}

/* A ball keyed to jump aside, without any file: what a host with its own scene does. Z is up here. */
static void in_memory(void) {
  sinew_scene_options options = {.struct_size = sizeof options, .up_axis = SINEW_UP_Z, .frames_per_second = 25};
  sinew_scene *scene = NULL;
  check(sinew_scene_create("shot", 4, &options, &scene), "making a scene");
  uint32_t ball = 0, clip = 0;
  check(sinew_scene_add_node(scene, "Ball", 4, SINEW_NONE, NULL, &ball), "adding a node");
  check(sinew_scene_add_clip(scene, "Jump", 4, &clip), "adding a clip");
  const double times[] = {0, 0.4, 1};
  const double values[] = {0, 0, 1, 2, 0, 1, 2, 0, 1};
  sinew_curve keys = {.struct_size = sizeof keys, .node = ball, .property = SINEW_TRANSLATION,
                      .interpolation = SINEW_LINEAR, .key_count = 3, .times = times, .values = values};
  check(sinew_scene_add_curve(scene, clip, &keys), "adding a curve");

  sinew_setup *setup = NULL;
  check(sinew_setup_automatic(scene, "Jump", 4, &setup), "making a set-up");
  const char *preset = "bodies/Ball/actuator/preset";
  check(sinew_setup_set_text(setup, preset, strlen(preset), "limp", 4), "choosing a preset");

  sinew_job *job = NULL;
  check(sinew_job_run(scene, setup, NULL, NULL, &job), "simulating");
  uint32_t curves = 0;
  check(sinew_job_curve_count(job, &curves), "counting curves");
  for (uint32_t i = 0; i < curves; ++i) {
    sinew_curve_info info = {.struct_size = sizeof info};
    check(sinew_job_curve_info(job, i, &info), "asking for a curve");
    double *at = room(info.key_count, sizeof *at);
    double *key = room(info.key_count * info.width, sizeof *key);
    check(sinew_job_curve_read(job, i, info.key_count, at, key, NULL, NULL), "reading a curve");
    if (info.property == SINEW_TRANSLATION) {
      double most = 0;
      for (size_t k = 0; k < info.key_count; ++k) most = fmax(most, key[k * info.width]);
      printf("memory: %zu keys, swings out to x = %.3f\n", info.key_count, most);
    }
    free(key);
    free(at);
  }
  sinew_job_free(job);
  sinew_setup_free(setup);
  sinew_scene_free(scene);
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "use: %s SCENE OUT\n", arguments[0]);
    return 2;
  }
  check(sinew_abi_check(SINEW_ABI_VERSION), "meeting the library");
  sinew_scene *scene = NULL;
  check(sinew_scene_open(arguments[1], strlen(arguments[1]), NULL, &scene), "opening");
  play(scene);
  bake(scene, arguments[2]);
  sinew_scene_free(scene);
  in_memory();
  return 0;
}
