/* What touches, as a host reads it: contacts SCENE SETUP. Prints every strike and every point of contact, as a job tells
 * them and as a session does that plays the same frames. */
#include "expect.h"

static void vector(const double v[3]) { printf(" %.17g %.17g %.17g", v[0], v[1], v[2]); }

static void tell_contact(const char *by, size_t frame, const sinew_contact *c) {
  EXPECT(c->struct_size == sizeof *c && c->reserved == 0);
  printf("contact %s %zu %u %u", by, frame, (unsigned)c->node_a, (unsigned)c->node_b);
  vector(c->point);
  vector(c->normal);
  printf(" %.17g", c->load);
  vector(c->friction);
  printf("\n");
}

static void tell_strike(const char *by, const sinew_strike *s) {
  EXPECT(s->struct_size == sizeof *s && s->reserved == 0);
  printf("strike %s %u %u %.17g %.17g", by, (unsigned)s->node_a, (unsigned)s->node_b, s->time, s->frame);
  vector(s->point);
  vector(s->normal);
  vector(s->impulse);
  printf(" %.17g\n", s->speed);
}

static void of_job(const sinew_job *job, size_t frames) {
  uint32_t count = 0;
  sinew_strike strike = {.struct_size = sizeof strike};
  sinew_contact contact = {.struct_size = sizeof contact};
  EXPECT_OK(sinew_job_strike_count(job, &count));
  EXPECT(count > 0);
  for (uint32_t i = 0; i < count; ++i) {
    EXPECT_OK(sinew_job_strike_info(job, i, &strike));
    tell_strike("job", &strike);
  }
  for (size_t f = 0; f < frames; ++f) {
    EXPECT_OK(sinew_job_contact_count(job, f, &count));
    EXPECT(f > 0 || count == 0);
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_OK(sinew_job_contact_info(job, f, i, &contact));
      tell_contact("job", f, &contact);
    }
  }
}

static void of_session(sinew_session *session, size_t frames) {
  sinew_strike strike = {.struct_size = sizeof strike};
  sinew_contact contact = {.struct_size = sizeof contact};
  for (size_t f = 0; f < frames; ++f) {
    uint32_t count = 0;
    if (f > 0) EXPECT_OK(sinew_session_step_frame(session));
    EXPECT_OK(sinew_session_strike_count(session, &count));
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_OK(sinew_session_strike_info(session, i, &strike));
      tell_strike("session", &strike);
    }
    EXPECT_OK(sinew_session_contact_count(session, &count));
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_OK(sinew_session_contact_info(session, i, &contact));
      tell_contact("session", f, &contact);
    }
  }
}

/* Mistakes are answered, and nothing is written. */
static void misuse(const sinew_job *job, const sinew_session *session, size_t frames) {
  uint32_t count = 7, strikes = 0, points = 0;
  EXPECT_OK(sinew_job_strike_count(job, &strikes));
  EXPECT_OK(sinew_session_contact_count(session, &points));
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "NULL", sinew_job_strike_count(job, NULL));
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "NULL", sinew_job_strike_count(NULL, &count));
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "no frame", sinew_job_contact_count(job, frames, &count));
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "no frame", sinew_job_contact_count(job, SIZE_MAX, &count));
  EXPECT_FAULT(SINEW_BAD_HANDLE, "where a session", sinew_session_contact_count((const sinew_session *)job, &count));
  EXPECT(count == 7);

  sinew_strike strike;
  memset(&strike, 0xa5, sizeof strike);
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "sinew_strike.struct_size", sinew_job_strike_info(job, 0, &strike));
  strike.struct_size = sizeof strike;
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "no strike", sinew_job_strike_info(job, strikes, &strike));
  EXPECT_RESULT(SINEW_OUT_OF_RANGE, sinew_job_strike_info(job, UINT32_MAX, &strike));
  EXPECT_FAULT(SINEW_INVALID_ARGUMENT, "NULL", sinew_job_strike_info(job, 0, NULL));
  strike.struct_size = 6; /* inside a field */
  EXPECT_RESULT(SINEW_INVALID_ARGUMENT, sinew_job_strike_info(job, 0, &strike));
  strike.struct_size = 0;
  EXPECT_RESULT(SINEW_INVALID_ARGUMENT, sinew_job_strike_info(job, 0, &strike));
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "count here is 0", sinew_session_strike_info(session, 0, &strike));
  EXPECT(strike.node_a == 0xa5a5a5a5);

  sinew_contact contact;
  memset(&contact, 0xa5, sizeof contact);
  contact.struct_size = sizeof contact;
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "no contact", sinew_session_contact_info(session, points, &contact));
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "no contact 0", sinew_job_contact_info(job, 0, 0, &contact));
  EXPECT_FAULT(SINEW_OUT_OF_RANGE, "no frame", sinew_job_contact_info(job, frames, 0, &contact));
  EXPECT_RESULT(SINEW_INVALID_ARGUMENT, sinew_session_contact_info(session, 0, NULL));
  EXPECT(contact.node_a == 0xa5a5a5a5 && contact.node_b == 0xa5a5a5a5);

  /* An older host has room for less, a newer one for more. */
  contact.struct_size = offsetof(sinew_contact, load);
  EXPECT_OK(sinew_session_contact_info(session, 0, &contact));
  EXPECT(contact.node_b == 1 && contact.normal[1] == 1);
  uint64_t untouched = 0;
  memcpy(&untouched, &contact.load, sizeof untouched);
  EXPECT(untouched == 0xa5a5a5a5a5a5a5a5);
  struct { sinew_strike known; uint64_t news[2]; } newer;
  memset(&newer, 0xa5, sizeof newer);
  newer.known.struct_size = sizeof newer;
  EXPECT_OK(sinew_job_strike_info(job, 0, &newer.known));
  EXPECT(newer.known.struct_size == sizeof newer && newer.known.time > 0 && newer.news[0] == 0 && newer.news[1] == 0);
}

int main(int count, char **arguments) {
  EXPECT(count == 3);
  EXPECT_OK(sinew_abi_check(SINEW_ABI_VERSION));
  sinew_scene *scene = NULL;
  sinew_setup *setup = NULL;
  sinew_job *job = NULL;
  sinew_session *session = NULL;
  size_t frames = 0;
  EXPECT_OK(sinew_scene_open(TEXT(arguments[1]), NULL, &scene));
  EXPECT_OK(sinew_setup_open(TEXT(arguments[2]), &setup));
  EXPECT_OK(sinew_job_run(scene, setup, NULL, NULL, &job));
  EXPECT_OK(sinew_session_create(scene, setup, &session));
  EXPECT_OK(sinew_job_frame_count(job, &frames));
  of_job(job, frames);
  of_session(session, frames);
  misuse(job, session, frames);
  EXPECT_OK(sinew_session_free(session));
  EXPECT_OK(sinew_job_free(job));
  EXPECT_OK(sinew_setup_free(setup));
  EXPECT_OK(sinew_scene_free(scene));
  return 0;
}
