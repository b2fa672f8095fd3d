/* A defect in the library: panic SCENE. The host goes on, the session can only be freed, all else works. */
#include "expect.h"

/* Only in the library made for this test. */
sinew_result sinew_test_panic(sinew_session *session);

int main(int count, char **arguments) {
  EXPECT(count == 2);
  sinew_scene *scene = NULL;
  sinew_session *broken = NULL, *sound = NULL;
  double time = -1;
  EXPECT_OK(sinew_scene_open(arguments[1], SINEW_NUL_TERMINATED, NULL, &scene));
  EXPECT_OK(sinew_session_create(scene, NULL, &broken));
  EXPECT_OK(sinew_session_create(scene, NULL, &sound));

  EXPECT_FAULT(SINEW_PANICKED, "on purpose", sinew_test_panic(broken));
  EXPECT_FAULT(SINEW_POISONED, "free it", sinew_session_step(broken, 0.1));
  EXPECT_RESULT(SINEW_POISONED, sinew_session_time(broken, &time));
  EXPECT_RESULT(SINEW_POISONED, sinew_test_panic(broken));
  EXPECT(time == -1);

  EXPECT_OK(sinew_session_step(sound, 0.1));
  EXPECT_OK(sinew_session_free(broken));
  EXPECT_RESULT(SINEW_BAD_HANDLE, sinew_session_step(broken, 0.1));
  EXPECT_OK(sinew_session_create(scene, NULL, &broken));
  EXPECT_OK(sinew_session_free(broken));
  EXPECT_OK(sinew_session_free(sound));
  EXPECT_OK(sinew_scene_free(scene));
  return 0;
}
