// SPDX-License-Identifier: Apache-2.0
/*
 * The events of several threads in one order.
 *
 * Within a thread it is the recorded order. Between threads that share a GIL it is exactly the order in which they held it, from
 * SWITCH records. Where those are missing, and between processes, it is the order of time, within the error bounds. Only threads
 * that are alive at the same time are in memory together.
 */
#ifndef KYMO_REPLAY_DECODE_MERGE_H
#define KYMO_REPLAY_DECODE_MERGE_H

#include "replay/decode/thread_cursor.h"

struct kymo_merge;

/* True if the events of @stream are wanted. */
typedef bool (*kymo_stream_filter)(const struct kymo_stream *stream, void *context);

/*
 * Merge the streams of @timeline that @filter (NULL: all) wants. Chunks that were closed before @from_ns are skipped unread; events
 * before it may still be returned.
 */
KYMO_MUST_CHECK
int kymo_merge_open(struct kymo_merge **merge, struct kymo_timeline *timeline, int64_t from_ns,
		    kymo_stream_filter filter, void *context, struct kymo_error *error);
void kymo_merge_close(struct kymo_merge *merge);

/* As kymo_cursor_next(). */
KYMO_MUST_CHECK
int kymo_merge_next(struct kymo_merge *merge, struct kymo_event *event, struct kymo_error *error);

#endif
