// SPDX-License-Identifier: Apache-2.0
/* Totals of a whole trace, or of one thread; every event is decoded for them. */
#ifndef KYMO_REPLAY_DECODE_SUMMARY_H
#define KYMO_REPLAY_DECODE_SUMMARY_H

#include "replay/decode/thread_cursor.h"

#define KYMO_LOSS_MASKS 256 /* number of enum kymo_loss masks */

struct kymo_summary {
	uint64_t events; /* recorded */
	uint64_t rebuilt; /* not among those */
	uint64_t by_kind[KYMO_EVENT_KINDS];
	uint64_t lost;
	uint64_t lost_by_reasons[KYMO_LOSS_MASKS];
	uint64_t untold; /* of those lost: in no thread of the trace */
	bool lost_is_least; /* a lower bound: for a gap with several causes, the share of each is not known */
	uint64_t undefined; /* events whose code or name is not defined */
	uint64_t values_events, values, values_bytes; /* recorded events with values; these, and their records */
	uint64_t values_damaged; /* events whose values could not all be read */
	uint64_t largest_t_err_ns;
	double sum_t_err_ns;
	int64_t last_ns;
};

/* Add the events of @stream to @summary, and each to its code's kymo_content.events. */
KYMO_MUST_CHECK
int kymo_summary_add(struct kymo_summary *summary, struct kymo_timeline *timeline,
		     const struct kymo_stream *stream, struct kymo_error *error);

/*
 * After all streams: add to @total what the reader could not write, because of a full disk or a size limit, of threads and processes
 * that are not in the trace. Returns why the trace was cut short, or NULL if it was not.
 */
const char *kymo_summary_add_unstored(struct kymo_summary *total, const struct kymo_definitions *definitions);

#endif
