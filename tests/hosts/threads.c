/* Sessions on threads: threads SCENE. Each of four threads makes its own session of one shared scene, and all have
 * the bits that one thread alone has. Meanwhile one session is freed under a thread that uses it. */
#include "expect.h"

#include <pthread.h>

enum { THREADS = 4, FRAMES = 60 };

static const sinew_scene *scene;

typedef struct {
  double *poses;
  size_t numbers;
} Played;

static void *play(void *unused) {
  (void)unused;
  sinew_session *session = NULL;
  uint32_t bodies = 0;
  EXPECT_OK(sinew_session_create(scene, NULL, &session));
  EXPECT_OK(sinew_session_body_count(session, &bodies));
  Played *played = malloc(sizeof *played);
  EXPECT(played != NULL);
  played->numbers = (size_t)bodies * 7 * FRAMES;
  played->poses = calloc(played->numbers, sizeof(double));
  EXPECT(played->poses != NULL);
  for (size_t frame = 0; frame < FRAMES; ++frame) {
    EXPECT_OK(sinew_session_step_frame(session));
    EXPECT_OK(sinew_session_poses(session, played->poses + frame * bodies * 7, (size_t)bodies * 7));
  }
  EXPECT_OK(sinew_session_free(session));
  return played;
}

static void *use_until_gone(void *session) {
  sinew_result result;
  do {
    result = sinew_session_step(session, 0.001);
  } while (result == SINEW_OK);
  EXPECT(result == SINEW_BAD_HANDLE);
  return NULL;
}

int main(int count, char **arguments) {
  EXPECT(count == 2);
  sinew_scene *opened = NULL;
  EXPECT_OK(sinew_scene_open(arguments[1], SINEW_NUL_TERMINATED, NULL, &opened));
  scene = opened;
  Played *alone = play(NULL);

  sinew_session *doomed = NULL;
  pthread_t user, thread[THREADS];
  EXPECT_OK(sinew_session_create(scene, NULL, &doomed));
  EXPECT(pthread_create(&user, NULL, use_until_gone, doomed) == 0);
  for (int i = 0; i < THREADS; ++i) EXPECT(pthread_create(&thread[i], NULL, play, NULL) == 0);
  for (int i = 0; i < THREADS; ++i) {
    void *result = NULL;
    EXPECT(pthread_join(thread[i], &result) == 0);
    Played *played = result;
    EXPECT(played->numbers == alone->numbers);
    EXPECT(!memcmp(played->poses, alone->poses, alone->numbers * sizeof(double)));
    free(played->poses);
    free(played);
  }
  EXPECT_OK(sinew_session_free(doomed));
  EXPECT(pthread_join(user, NULL) == 0);
  EXPECT_OK(sinew_scene_free(opened));
  free(alone->poses);
  free(alone);
  return 0;
}
