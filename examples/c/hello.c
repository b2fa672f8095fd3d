#include "sinew.h"
#include <stdio.h>

int main(int count, char **arguments) { /* hello SCENE OUT */
  if (count != 3) return 2;
  sinew_bake_request bake = {.struct_size = sizeof bake,
                             .scene = arguments[1], .scene_length = SINEW_NUL_TERMINATED,
                             .output = arguments[2], .output_length = SINEW_NUL_TERMINATED};
  if (sinew_bake_file(&bake, NULL, NULL) == SINEW_OK) return 0;
  char why[512];
  sinew_last_error(why, sizeof why);
  return fprintf(stderr, "%s\n", why), 1;
}
