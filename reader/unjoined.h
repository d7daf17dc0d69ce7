// SPDX-License-Identifier: Apache-2.0
/* Processes that wanted to record and could not: they leave word in the session's page. */
#ifndef KYMO_READER_UNJOINED_H
#define KYMO_READER_UNJOINED_H

struct kymo_reader;

/* Tell of those that have left word since the last look; cheap if there are none. */
void kymo_unjoined_take(struct kymo_reader *reader, const char *session_dir);

/* The same at the end, and how many there are besides. */
void kymo_unjoined_finish(struct kymo_reader *reader, const char *session_dir);

#endif
