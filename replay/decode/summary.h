// SPDX-License-Identifier: Apache-2.0
/* What a whole trace, or one thread of it, amounts to; every event is decoded for it. */
#ifndef KYMO_REPLAY_DECODE_SUMMARY_H
#define KYMO_REPLAY_DECODE_SUMMARY_H

#include "replay/decode/thread_cursor.h"

#define KYMO_LOSS_MASKS 256 /* every enum kymo_loss mask */

struct kymo_summary {
	uint64_t events; /* recorded */
	uint64_t rebuilt; /* not among those */
	uint64_t by_kind[KYMO_EVENT_KINDS];
	uint64_t lost;
	uint64_t lost_by_reasons[KYMO_LOSS_MASKS];
	uint64_t untold; /* of those lost: in no thread that the trace tells of */
	bool lost_is_least; /* it may be more: of a gap with several causes it is not known how much each has */
	uint64_t undefined; /* events whose code or name is not defined */
	uint64_t values_events, values, values_bytes; /* recorded events with values; these, and their records */
	uint64_t values_damaged; /* events whose values could not all be read */
	uint64_t largest_t_err_ns;
	double sum_t_err_ns;
	int64_t last_ns;
};

/* Add what @stream holds to @summary, and each event to its code's kymo_content.events. */
KYMO_MUST_CHECK
int kymo_summary_add(struct kymo_summary *summary, struct kymo_timeline *timeline,
		     const struct kymo_stream *stream, struct kymo_error *error);

/*
 * After all streams: add to @total what the reader could not write, for a full disk or a size limit, of threads and
 * processes that the trace does not tell of.  Returns why the trace was cut short, or NULL if it was not.
 */
const char *kymo_summary_add_unstored(struct kymo_summary *total, const struct kymo_definitions *definitions);

#endif
