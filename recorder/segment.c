// SPDX-License-Identifier: Apache-2.0
/*
 * Segments: each chunk's header says in which segment it lies, and the definitions stream how each segment ended.
 *
 * Under one GIL, a chunk is never partly in a segment: at both ends all chunks under the GIL are sealed.
 */
#include <errno.h>

#include "recorder/process.h"

int kymo_segment_begin(const struct kymo_host *host)
{
	struct kymo_process *process;
	int result = 0;

	kymo_process_adopt();
	pthread_mutex_lock(&kymo_process_lock);
	process = kymo_current_process;
	if (process && kymo_load_relaxed_u64(&process->segment)) {
		result = -EBUSY;
	} else if (process) {
		kymo_process_seal(process, host->gil);
		process->is_in_parents = false;
		kymo_store_release_u64(&process->segment, ++process->segments);
	}
	pthread_mutex_unlock(&kymo_process_lock);
	return result;
}

static void end(struct kymo_process *process, const struct kymo_gil *gil, bool keep)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__SegmentEnd segment_end = KYMO__SEGMENT_END__INIT;

	kymo_process_seal(process, gil);
	segment_end.segment = kymo_load_relaxed_u64(&process->segment);
	segment_end.keep = keep;
	definition.kind_case = KYMO__DEFINITION__KIND_SEGMENT_END;
	definition.segment_end = &segment_end;
	/* If this fails, the segment is kept. */
	kymo_define_locked(process, &definition);
	/* Release: the segment's end is written before any chunk is opened outside of it.  Pairs
	 * with the acquire in open_chunk(). */
	kymo_store_release_u64(&process->segment, 0);
}

int kymo_segment_end(const struct kymo_host *host, bool keep)
{
	struct kymo_process *process;
	int result = 0;

	kymo_process_adopt();
	pthread_mutex_lock(&kymo_process_lock);
	process = kymo_current_process;
	if (!process)
		result = 0;
	else if (kymo_load_relaxed_u64(&process->segment))
		end(process, host->gil, keep);
	else if (process->is_in_parents)
		process->is_in_parents = false;
	else
		result = -EINVAL;
	pthread_mutex_unlock(&kymo_process_lock);
	return result;
}
