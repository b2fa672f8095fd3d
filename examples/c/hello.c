#include "sinew.h"
#include <stdio.h>

int main(int count, char **arguments) { /* hello SCENE OUT */
  if (count != 3) return 2;
  sinew_bake_request request = {.struct_size = sizeof request,
                                .scene = arguments[1], .scene_length = SINEW_NUL_TERMINATED,
                                .output = arguments[2], .output_length = SINEW_NUL_TERMINATED};
  char why[512];
  if (sinew_bake_file(&request, NULL, NULL) == SINEW_OK) return 0;
  sinew_last_error(why, sizeof why);
  return fprintf(stderr, "%s\n", why), 1;
}
