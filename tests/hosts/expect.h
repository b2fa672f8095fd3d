/* What the hosts of the tests share: expectations that say where they failed, in the library's words. */
#pragma once

#include "sinew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

#define EXPECT_RESULT(expected, call)                                                                        \
  do {                                                                                                       \
    sinew_result expect_found = (call);                                                                      \
    if (expect_found != (expected)) {                                                                        \
      char expect_why[1024];                                                                                 \
      sinew_last_error(expect_why, sizeof expect_why);                                                       \
      fprintf(stderr, "%s:%d: %s: %s, not %s: %s\n", __FILE__, __LINE__, #call,                              \
              sinew_result_name(expect_found), #expected, expect_why);                                       \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

#define EXPECT_OK(call) EXPECT_RESULT(SINEW_OK, call)

/* A refusal whose text names the culprit. */
#define EXPECT_FAULT(expected, named, call)                                                                  \
  do {                                                                                                       \
    EXPECT_RESULT(expected, call);                                                                           \
    char fault_why[1024];                                                                                    \
    sinew_last_error(fault_why, sizeof fault_why);                                                           \
    if (!strstr(fault_why, named)) {                                                                         \
      fprintf(stderr, "%s:%d: \"%s\" does not say \"%s\"\n", __FILE__, __LINE__, fault_why, named);          \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

/* Zero-terminated texts with their lengths. */
#define TEXT(text) (text), strlen(text)
