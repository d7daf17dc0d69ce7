// SPDX-License-Identifier: Apache-2.0
#include "cli/growth.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "format/counter.h"
#include "replay/trace/text.h"

#define LARGE (64U << 20)
#define MINUTE_NS 6e10

void kymo_growth_look(void *context)
{
	struct kymo_growth *growth = context;
	char path[PATH_MAX + 16], size[KYMO_TEXT_BYTES], rate[KYMO_TEXT_BYTES], passed[KYMO_TEXT_BYTES];
	double ns = (double)(kymo_monotonic_ns() - growth->began_ns);
	struct stat status;

	snprintf(path, sizeof(path), "%s.incomplete", growth->output);
	if (growth->has_told || stat(path, &status) || status.st_size < LARGE)
		return;
	growth->has_told = true;
	fputs("kymo: values make ", stderr);
	kymo_text_put(stderr, kymo_shown_path(growth->output, growth->directory));
	fprintf(stderr, " large: %s after %s, at this rate %s a minute; --values-for limits them to files or functions, --values-limits to less of each\n",
		kymo_text_size((uint64_t)status.st_size, size), kymo_text_duration(ns, passed),
		kymo_text_size((uint64_t)((double)status.st_size * MINUTE_NS / ns), rate));
}
