/* A scene from memory: memory SCENE OUT. The bytes of a file, without the file, bake to the same result. */
#include "expect.h"

int main(int count, char **arguments) {
  EXPECT(count == 3);
  FILE *file = fopen(arguments[1], "rb");
  EXPECT(file && fseek(file, 0, SEEK_END) == 0);
  size_t length = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(length);
  EXPECT(bytes && fread(bytes, 1, length, file) == length);
  fclose(file);

  sinew_scene *scene = NULL;
  sinew_job *job = NULL;
  EXPECT_OK(sinew_scene_open_memory(bytes, length, TEXT("scene"), &scene));
  memset(bytes, 0, length); /* it was copied */
  free(bytes);
  EXPECT_OK(sinew_job_run(scene, NULL, NULL, NULL, &job));
  EXPECT_OK(sinew_scene_add_job(scene, job, NULL, 0, 0, NULL));
  EXPECT_OK(sinew_job_free(job));
  EXPECT_OK(sinew_scene_save(scene, TEXT(arguments[2])));
  EXPECT_OK(sinew_scene_free(scene));
  return 0;
}
