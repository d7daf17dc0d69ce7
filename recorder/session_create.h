// SPDX-License-Identifier: Apache-2.0
/* Making a session: the shared folder that recorded processes and the reader meet in. */
#ifndef KYMO_RECORDER_SESSION_CREATE_H
#define KYMO_RECORDER_SESSION_CREATE_H

#include <stdbool.h>
#include <stddef.h>

#include "format/error.h"
#include "format/metadata.pb-c.h"

#define KYMO_DIR_BYTES 512

/*
 * Choose a directory with room (config->session_dir, else /dev/shm, $XDG_RUNTIME_DIR,
 * $TMPDIR, /tmp, each probed by a write), make a folder of mode 0700 in it with the files
 * `session` and `run`, and put its absolute path into @dir.  Of @run the caller sets argv
 * and working_directory; config, version, counter, budget, times and id are filled in here.
 */
KYMO_MUST_CHECK
int kymo_session_create(const Kymo__Config *config, Kymo__Session *run, char dir[KYMO_DIR_BYTES],
			struct kymo_error *error);

/* Remove a session folder and all that is in it; for sessions whose reader never started. */
void kymo_session_remove(const char *dir);

/*
 * Parse what --events takes: profiles and event names (as in sys.monitoring.events, any
 * case), comma-separated, into config->events, ->profile, ->once and ->branch_bits.
 * @profile must live as long as @config.  Returns 0 or -EINVAL.
 */
KYMO_MUST_CHECK
int kymo_config_set_events(Kymo__Config *config, char *profile, struct kymo_error *error);

/* Add the events of --c-calls: CALL, C_RETURN, C_RAISE. */
void kymo_config_add_c_calls(Kymo__Config *config);

/* Parse a size: digits with an optional K, M or G (powers of 1024).  0 or -EINVAL. */
KYMO_MUST_CHECK
int kymo_parse_size(const char *text, uint64_t *bytes, struct kymo_error *error);

/* Parse block|drop|overwrite and sampled|exact|none.  0 or -EINVAL. */
KYMO_MUST_CHECK
int kymo_parse_policy(const char *text, uint32_t *policy, struct kymo_error *error);
KYMO_MUST_CHECK
int kymo_parse_clock(const char *text, uint32_t *clock_mode, struct kymo_error *error);

/*
 * Record the values in @scope: none|args|locals|globals.  @values, with default limits where it has none, becomes config->values and
 * must live as long.  To be called after the events are set.  0 or -EINVAL.
 */
KYMO_MUST_CHECK
int kymo_config_set_values(Kymo__Config *config, Kymo__Values *values, const char *scope, struct kymo_error *error);

/* Parse limits of values, such as any of "depth=2,items=20,text=200,bytes=4096", into @values.  0 or -EINVAL. */
KYMO_MUST_CHECK
int kymo_parse_value_limits(const char *text, Kymo__Values *values, struct kymo_error *error);

#endif
