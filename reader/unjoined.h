// SPDX-License-Identifier: Apache-2.0
/* Processes that wanted to record and could not: they report it in the session's page. */
#ifndef KYMO_READER_UNJOINED_H
#define KYMO_READER_UNJOINED_H

struct kymo_reader;

/* Define those that have reported since the last look; cheap if there are none. */
void kymo_unjoined_take(struct kymo_reader *reader, const char *session_dir);

/* The same at the end, with the number of those without details. */
void kymo_unjoined_finish(struct kymo_reader *reader, const char *session_dir);

#endif
