// SPDX-License-Identifier: Apache-2.0
/*
 * arrow_bench TRACE [COLUMNS]: how fast a trace becomes Arrow batches, for a consumer that releases each as soon as it has it.
 * Prints rows, seconds of processor time, and batches.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "replay/library/arrow.h"

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct kymo_arrow_slice slice = {.size = sizeof slice, .from_ns = INT64_MIN, .to_ns = INT64_MAX, .thread = -1, .columns = argc > 2 ? argv[2] : NULL};
	struct ArrowArrayStream stream;
	struct ArrowArray batch;
	uint64_t rows = 0, batches = 0;
	char error[512];
	double start;
	int result;

	if (argc < 2)
		return fprintf(stderr, "usage: arrow_bench TRACE [COLUMNS]\n"), 2;
	if (kymo_arrow_open(argv[1], &slice, &stream, error, sizeof error))
		return fprintf(stderr, "%s\n", error), 1;
	start = now();
	while (!(result = stream.get_next(&stream, &batch)) && batch.release) {
		rows += (uint64_t)batch.length;
		batches++;
		batch.release(&batch);
	}
	if (result)
		return fprintf(stderr, "%s\n", stream.get_last_error(&stream)), 1;
	printf("{\"rows\": %" PRIu64 ", \"seconds\": %.6f, \"batches\": %" PRIu64 "}\n", rows, now() - start, batches);
	stream.release(&stream);
	return 0;
}
