/* What a host may do wrong: misuse SCENE FOLDER. Every mistake is a code and a text, and all goes on afterwards. */
#include "expect.h"

#include <math.h>

static sinew_scene *opened(const char *path) {
  sinew_scene *scene = NULL;
  EXPECT_OK(sinew_scene_open(path, SINEW_NUL_TERMINATED, NULL, &scene));
  EXPECT(scene != NULL);
  return scene;
}

static void struct_sizes(const sinew_scene *scene) {
  sinew_job *job = NULL;
  sinew_job_options options;
  EXPECT_OK(sinew_job_options_init(&options, sizeof options));
  EXPECT(options.struct_size == sizeof options && options.flags == 0 && options.clip == NULL);

  options.struct_size = 0;
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "sinew_job_options.struct_size", sinew_job_run(scene, NULL, &options, NULL, &job));
  options.struct_size = 3;
  EXPECT_RESULT(SINEW_INVALID_ARGUMENT, sinew_job_run(scene, NULL, &options, NULL, &job));
  memset(&options, 0xa5, sizeof options); /* never initialised */
  EXPECT_RESULT(SINEW_INVALID_ARGUMENT, sinew_job_run(scene, NULL, &options, NULL, &job));
  EXPECT(job == NULL);
  EXPECT_RESULT(SINEW_INVALID_ARGUMENT, sinew_job_options_init(&options, 0));
  EXPECT_RESULT(SINEW_INVALID_ARGUMENT, sinew_job_options_init(&options, SIZE_MAX));

  /* A struct does not end inside a field: half of this pointer would be followed to nowhere. */
  sinew_callbacks callbacks;
  memset(&callbacks, 0x5a, sizeof callbacks);
  callbacks.struct_size = offsetof(sinew_callbacks, progress) + 4;
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "sinew_callbacks.struct_size", sinew_job_run(scene, NULL, NULL, &callbacks, &job));

  /* An older host knows only the first fields: what lies behind them is not read. */
  memset(&options, 0xa5, sizeof options);
  EXPECT_OK(sinew_job_options_init(&options, offsetof(sinew_job_options, first_frame)));
  EXPECT(options.first_frame != 0);
  EXPECT_OK(sinew_job_run(scene, NULL, &options, NULL, &job));
  EXPECT_OK(sinew_job_free(job));

  /* A newer host knows more: accepted as long as it does not use that. */
  struct { sinew_job_options known; uint64_t news[2]; } newer;
  job = NULL;
  EXPECT_OK(sinew_job_options_init(&newer.known, sizeof newer));
  EXPECT(newer.known.struct_size == sizeof newer && newer.news[1] == 0);
  EXPECT_OK(sinew_job_run(scene, NULL, &newer.known, NULL, &job));
  newer.news[1] = 1;
  sinew_job *none = NULL;
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "newer library", sinew_job_run(scene, NULL, &newer.known, NULL, &none));
  EXPECT(none == NULL);

  /* Answers, too, fill no more than the host has room for. */
  struct { sinew_curve_info info; uint32_t after; } answer;
  memset(&answer, 0xa5, sizeof answer);
  answer.info.struct_size = offsetof(sinew_curve_info, interpolation);
  EXPECT_OK(sinew_job_curve_info(job, 0, &answer.info));
  EXPECT(answer.info.property <= SINEW_SCALE && answer.info.interpolation == (int32_t)0xa5a5a5a5);
  answer.info.struct_size = sizeof answer.info;
  EXPECT_OK(sinew_job_curve_info(job, 0, &answer.info));
  EXPECT(answer.info.key_count > 0 && answer.info.width >= 3 && answer.after == 0xa5a5a5a5);
  EXPECT_OK(sinew_job_free(job));
}

static void handles(sinew_scene *scene) {
  uint32_t count = 7;
  int nothing = 0;
  EXPECT_FAULT(SINEW_BAD_HANDLE, "not live", sinew_scene_node_count((sinew_scene *)&nothing, &count));
  EXPECT_FAULT(SINEW_BAD_HANDLE, "a scene was passed where a session", sinew_session_step((sinew_session *)scene, 0.1));
  EXPECT_FAULT(SINEW_BAD_HANDLE, "a scene was passed", sinew_job_free((sinew_job *)scene));

  sinew_session *session = NULL;
  EXPECT_OK(sinew_session_create(scene, NULL, &session));
  EXPECT_OK(sinew_session_free(session));
  EXPECT_FAULT(SINEW_BAD_HANDLE, "freed", sinew_session_step(session, 0.1));
  EXPECT_RESULT(SINEW_BAD_HANDLE, sinew_session_free(session)); /* twice */
  sinew_session *another = NULL; /* may lie where the first did, and yet is another */
  EXPECT_OK(sinew_session_create(scene, NULL, &another));
  EXPECT(another != session);
  EXPECT_RESULT(SINEW_BAD_HANDLE, sinew_session_step(session, 0.1));
  EXPECT_OK(sinew_session_step(another, 0.1));
  EXPECT_OK(sinew_session_free(another));
  EXPECT(count == 7);
}

static void numbers_and_texts(const sinew_scene *scene, const char *folder) {
  static const char latin[] = {'B', (char)0xe4, 'l', 'l', 0};
  sinew_scene *none = NULL;
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "path is not UTF-8", sinew_scene_open(TEXT(latin), NULL, &none));
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "zero byte", sinew_scene_open("a\0b", 3, NULL, &none));
  EXPECT_RESULT(SINEW_INVALID_ARGUMENT, sinew_scene_open("", 0, NULL, &none));
  EXPECT_FAULT(SINEW_IO, "there-is-none.glb", sinew_scene_open(TEXT("there-is-none.glb"), NULL, &none));
  EXPECT_FAULT(SINEW_BAD_INPUT, "odd", sinew_scene_open_memory((const uint8_t *)"nonsense", 8, TEXT("odd"), &none));
  EXPECT_RESULT(SINEW_BAD_INPUT, sinew_scene_open_memory(NULL, 0, NULL, 0, &none));
  EXPECT(none == NULL);

  sinew_setup *setup = NULL;
  EXPECT_FAULT(SINEW_BAD_SETUP, "did you mean \"world\"?", sinew_setup_from_json(TEXT("{\"sinew\":1,\"wrld\":{}}"), &setup));
  EXPECT_FAULT(SINEW_BAD_SETUP, "Nope", sinew_setup_automatic(scene, TEXT("Nope"), &setup));
  EXPECT(setup == NULL);
  EXPECT_OK(sinew_setup_automatic(scene, NULL, 0, &setup));
  EXPECT_OK(sinew_setup_add_body(setup, TEXT("Nobody")));
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "Nobody", sinew_setup_add_body(setup, TEXT("Nobody")));
  EXPECT_FAULT(SINEW_BAD_SETUP, "did you mean \"alpha\"?", sinew_setup_set_number(setup, TEXT("bodies/Nobody/actuator/alhpa"), 1));
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "not a finite", sinew_setup_set_number(setup, TEXT("bodies/Nobody/mass"), NAN));
  EXPECT_OK(sinew_setup_set_number(setup, TEXT("bodies/Nobody/mass"), 2));
  sinew_session *session = NULL;
  EXPECT_FAULT(SINEW_BAD_SETUP, "Nobody", sinew_session_create(scene, setup, &session));
  EXPECT_OK(sinew_setup_remove(setup, TEXT("bodies/Nobody")));
  EXPECT_OK(sinew_session_create(scene, setup, &session));

  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "dt", sinew_session_step(session, 0));
  EXPECT_RESULT(SINEW_OUT_OF_RANGE, sinew_session_step(session, -1));
  EXPECT_RESULT(SINEW_OUT_OF_RANGE, sinew_session_seek(session, 1e300));
  EXPECT_RESULT(SINEW_OUT_OF_RANGE, sinew_session_set(session, 99, SINEW_SETTING_ALPHA, 1));
  EXPECT_RESULT(SINEW_OUT_OF_RANGE, sinew_session_set(session, 0, 99, 1));
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "from 0 to 1", sinew_session_set(session, 0, SINEW_SETTING_BLEND, 2));
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "did you mean \"damping\"?", sinew_session_set_named(session, 0, TEXT("dampnig"), 1));
  EXPECT_OK(sinew_session_set_named(session, 0, TEXT("base_angle_deg"), 30));
  double poses[7] = {42};
  EXPECT_FAULT(SINEW_TOO_SMALL, "needs", sinew_session_poses(session, poses, 6));
  EXPECT(poses[0] == 42);
  EXPECT_OK(sinew_session_free(session));

  /* Texts out: the length first, whole or not at all; the last error is cut where a character ends. */
  char text[8] = "as was";
  size_t length = 0;
  EXPECT_OK(sinew_setup_to_json(setup, NULL, 0, &length));
  EXPECT(length > 8);
  EXPECT_FAULT(SINEW_TOO_SMALL, "needs", sinew_setup_to_json(setup, text, sizeof text, &length));
  EXPECT(!strcmp(text, "as was"));
  size_t whole = sinew_last_error(text, sizeof text);
  EXPECT(whole > 8 && strlen(text) == 7);
  EXPECT_OK(sinew_setup_free(setup));

  sinew_scene *memory = NULL;
  EXPECT_OK(sinew_scene_create(TEXT("made"), NULL, &memory));
  char path[1024];
  snprintf(path, sizeof path, "%s/made.glb", folder);
  EXPECT_FAULT(SINEW_NOT_SUPPORTED, "sinew_scene_create", sinew_scene_save(memory, TEXT(path)));
  EXPECT_RESULT(SINEW_OUT_OF_RANGE, sinew_scene_add_node(memory, TEXT("Child"), 0, NULL, NULL));
  EXPECT_OK(sinew_scene_free(memory));
  EXPECT_RESULT(SINEW_WRONG_ABI, sinew_abi_check(SINEW_ABI_VERSION + 0x10000));
  EXPECT_RESULT(SINEW_WRONG_ABI, sinew_abi_check(SINEW_ABI_VERSION + 1));
}

static void drags(const sinew_scene *scene) {
  sinew_session *session = NULL, *other = NULL;
  EXPECT_OK(sinew_session_create(scene, NULL, &session));
  EXPECT_OK(sinew_session_create(scene, NULL, &other));
  uint64_t drag = 7;
  sinew_grip grip;
  EXPECT_OK(sinew_grip_init(&grip, sizeof grip));
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "out is NULL", sinew_session_drag_begin(session, 0, &grip, NULL));
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "no body 99", sinew_session_drag_begin(session, 99, &grip, &drag));
  grip.struct_size = 5;
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "sinew_grip.struct_size", sinew_session_drag_begin(session, 0, &grip, &drag));
  grip = (sinew_grip){.struct_size = sizeof grip, .flags = 1u << 30};
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "flags", sinew_session_drag_begin(session, 0, &grip, &drag));
  grip = (sinew_grip){.struct_size = sizeof grip, .at = {0, NAN, 0}};
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "hold on to", sinew_session_drag_begin(session, 0, &grip, &drag));
  grip = (sinew_grip){.struct_size = sizeof grip, .strength = -1};
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "strength", sinew_session_drag_begin(session, 0, &grip, &drag));
  EXPECT_FAULT(SINEW_BAD_HANDLE, "a scene was passed", sinew_session_drag_begin((sinew_session *)scene, 0, NULL, &drag));
  EXPECT(drag == 7);
  EXPECT_OK(sinew_session_drag_begin(session, 0, NULL, &drag));

  double target[7] = {0.1, 0.2, 0.3, 0, 0, 0, 1}, distance = -1;
  EXPECT_OK(sinew_session_drag_move(session, drag, target, 7));
  EXPECT_OK(sinew_session_drag_move(session, drag, target, 3));
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "3 (position) or 7", sinew_session_drag_move(session, drag, target, 4));
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "target is NULL", sinew_session_drag_move(session, drag, NULL, 3));
  EXPECT_FAULT(SINEW_BAD_HANDLE, "ended or never began", sinew_session_drag_move(other, drag, target, 3));
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "microseconds", sinew_session_drag_pose(session, drag, target, 3, 0, &distance));
  EXPECT_RESULT(SINEW_OUT_OF_RANGE, sinew_session_drag_pose(session, drag, target, 3, NAN, &distance));
  target[1] = NAN;
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "the target", sinew_session_drag_move(session, drag, target, 3));
  target[1] = 1e300;
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "1e9", sinew_session_drag_pose(session, drag, target, 3, 1000, &distance));
  EXPECT(distance == -1);
  target[1] = 0.2, target[6] = 0;
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "quaternion", sinew_session_drag_move(session, drag, target, 7));
  EXPECT_OK(sinew_session_step_frame(session));
  EXPECT_OK(sinew_session_drag_pose(session, drag, target, 3, 1e6, &distance));
  EXPECT(distance >= 0 && distance < 1e-6);
  EXPECT_OK(sinew_session_drag_pose(session, drag, target, 3, 1e6, NULL));
  EXPECT_OK(sinew_session_drag_end(session, drag));
  EXPECT_FAULT(SINEW_BAD_HANDLE, "ended", sinew_session_drag_end(session, drag));

  /* Numbers are not used again, and seeking lets go of everything. */
  uint64_t next = 0;
  EXPECT_OK(sinew_session_drag_begin(session, 0, NULL, &next));
  EXPECT(next != drag);
  EXPECT_OK(sinew_session_seek(session, 0));
  EXPECT_RESULT(SINEW_BAD_HANDLE, sinew_session_drag_move(session, next, target, 3));

  sinew_solver solver;
  EXPECT_OK(sinew_solver_init(&solver, sizeof solver));
  EXPECT_OK(sinew_session_set_solver(session, &solver));
  EXPECT_OK(sinew_session_set_solver(session, NULL));
  solver.tier = 9;
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "tier", sinew_session_set_solver(session, &solver));
  solver = (sinew_solver){.struct_size = sizeof solver, .microseconds = -3};
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "microseconds", sinew_session_set_solver(session, &solver));
  solver.microseconds = NAN;
  EXPECT_RESULT(SINEW_OUT_OF_RANGE, sinew_session_set_solver(session, &solver));
  solver = (sinew_solver){.struct_size = sizeof solver, .tier = SINEW_TIER_PAIRWISE, .rounds = 1000000};
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "rounds", sinew_session_set_solver(session, &solver));
  solver.rounds = 0;
  EXPECT_OK(sinew_session_set_solver(session, &solver));
  EXPECT_OK(sinew_session_step_frame(session));
  EXPECT_OK(sinew_session_free(session));
  EXPECT_OK(sinew_session_free(other));
}

typedef struct {
  sinew_scene *scene;
  int calls;
} Watched;

static int32_t stop_in_the_middle(void *user, const sinew_progress *progress) {
  Watched *watched = user;
  watched->calls += 1;
  return progress->stage == SINEW_STAGE_SIMULATE && progress->done == 5;
}

static int32_t meddle(void *user, const sinew_progress *progress) {
  Watched *watched = user;
  uint32_t count = 0;
  EXPECT(progress->struct_size == sizeof *progress);
  EXPECT_OK(sinew_scene_node_count(watched->scene, &count)); /* looking is fine */
  EXPECT_FAULT(SINEW_BUSY, "another call", sinew_scene_add_node(watched->scene, TEXT("late"), SINEW_NONE, NULL, NULL));
  watched->calls += 1;
  return 0;
}

static void cancelling(sinew_scene *scene, const char *path, const char *folder) {
  Watched watched = {scene, 0};
  sinew_callbacks callbacks = {.struct_size = sizeof callbacks, .progress = stop_in_the_middle, .user = &watched};
  sinew_job *job = NULL;
  EXPECT_RESULT(SINEW_CANCELLED, sinew_job_run(scene, NULL, NULL, &callbacks, &job));
  EXPECT(job == NULL && watched.calls > 5);

  char out[1024];
  snprintf(out, sizeof out, "%s/cancelled.glb", folder);
  sinew_bake_request request = {.struct_size = sizeof request, .scene = path, .scene_length = strlen(path),
                                .output = out, .output_length = strlen(out)};
  EXPECT_FAULT(SINEW_CANCELLED, "nothing was written", sinew_bake_file(&request, &callbacks, NULL));
  EXPECT(fopen(out, "rb") == NULL);

  /* Everything still works. */
  callbacks.progress = meddle;
  watched.calls = 0;
  EXPECT_OK(sinew_job_run(scene, NULL, NULL, &callbacks, &job));
  EXPECT(watched.calls > 5);
  EXPECT_OK(sinew_scene_add_job(scene, job, TEXT("baked"), 0, NULL));
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "baked", sinew_scene_add_job(scene, job, TEXT("baked"), 0, NULL));
  EXPECT_OK(sinew_scene_add_job(scene, job, TEXT("baked"), 1, NULL));
  EXPECT_OK(sinew_job_free(job));
}

static void hear(void *user, int32_t level, const char *text, size_t length) {
  EXPECT(level == SINEW_LOG_WARNING && strlen(text) == length);
  if (strstr(text, "after the end")) *(int *)user += 1;
}

/* Bytes behind the end of a GLB file are worth a warning, which the log gets to hear. */
static void warnings(const char *path, const char *folder) {
  if (!strstr(path, ".glb")) return;
  char copy[1024], out[1024];
  snprintf(copy, sizeof copy, "%s/trailing.glb", folder);
  snprintf(out, sizeof out, "%s/heard.glb", folder);
  FILE *from = fopen(path, "rb"), *to = fopen(copy, "wb");
  EXPECT(from && to);
  for (int byte = getc(from); byte != EOF; byte = getc(from)) putc(byte, to);
  fputs("more", to);
  fclose(from);
  EXPECT(fclose(to) == 0);

  int heard = 0;
  sinew_callbacks callbacks;
  EXPECT_OK(sinew_callbacks_init(&callbacks, sizeof callbacks));
  callbacks.log = hear;
  callbacks.user = &heard;
  sinew_bake_request request = {.struct_size = sizeof request, .scene = copy, .scene_length = strlen(copy),
                                .output = out, .output_length = strlen(out)};
  sinew_report *report = NULL;
  int32_t status = -1;
  EXPECT_OK(sinew_bake_file(&request, &callbacks, &report));
  EXPECT_OK(sinew_report_status(report, &status));
  EXPECT(heard == 1 && status == SINEW_STATUS_DONE);
  EXPECT_OK(sinew_report_free(report));

  char lines[256];
  sinew_scene *scene = opened(copy);
  EXPECT_OK(sinew_scene_warnings(scene, lines, sizeof lines, NULL));
  EXPECT(strstr(lines, "after the end"));
  EXPECT_OK(sinew_scene_free(scene));
}

int main(int count, char **arguments) {
  EXPECT(count == 3);
  sinew_scene *scene = opened(arguments[1]);
  struct_sizes(scene);
  handles(scene);
  numbers_and_texts(scene, arguments[2]);
  drags(scene);
  cancelling(scene, arguments[1], arguments[2]);
  EXPECT_OK(sinew_scene_free(scene));
  warnings(arguments[1], arguments[2]);
  EXPECT(!strcmp(sinew_result_name(SINEW_BUSY), "SINEW_BUSY") && !strcmp(sinew_result_name(-1), "SINEW_UNKNOWN"));
  return 0;
}
