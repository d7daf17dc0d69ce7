// SPDX-License-Identifier: Apache-2.0
/* `kymo`: finds the verb and hands over. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/option_table.h"
#include "replay/trace/text.h"

static const struct kymo_verb *const verbs[] = {
	&kymo_verb_record, &kymo_verb_info,	&kymo_verb_ps,	    &kymo_verb_stats,  &kymo_verb_top,	    &kymo_verb_events,
	&kymo_verb_source, &kymo_verb_tail,	&kymo_verb_replay,  &kymo_verb_diff,   &kymo_verb_dap,	    &kymo_verb_report,
	&kymo_verb_coverage, &kymo_verb_combine, &kymo_verb_export, &kymo_verb_suspects, &kymo_verb_index,  &kymo_verb_verify,
	&kymo_verb_salvage, &kymo_verb_snapshot, &kymo_verb_read,   NULL,
};

static void print_help(void)
{
	printf("usage: kymo VERB [options] …\n\nA flight recorder for CPython.\n\n");
	for (const struct kymo_verb *const *verb = verbs; *verb; verb++)
		if ((*verb)->summary)
			printf("  %-10s %s\n", (*verb)->name, (*verb)->summary);
	printf("\nkymo VERB --help describes a verb; kymo --version prints the version.\n");
}

static int run_verb(const struct kymo_verb *verb, int argc, char **argv)
{
	char name[32];
	char *first = name;

	/* getopt_long() begins its messages with argv[0]. */
	snprintf(name, sizeof name, "kymo %s", verb->name);
	argv[0] = first;
	return verb->run(argc, argv);
}

/* Output that could not be written is a failure, without a message if its reader has closed it. */
static int finish_output(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		fprintf(stderr, "kymo: cannot write: %s\n", strerror(errno));
	return status ? status : KYMO_EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--help";

	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		print_help();
		return finish_output(argc > 1 ? KYMO_EXIT_OK : KYMO_EXIT_USAGE);
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
		printf("kymo %s\n", KYMO_VERSION);
		return finish_output(KYMO_EXIT_OK);
	}
	if (!strcmp(name, "_complete"))
		return finish_output(kymo_complete(verbs, argc - 1, argv + 1));
	if (!strcmp(name, "_options"))
		return finish_output(kymo_put_options(verbs));
	for (const struct kymo_verb *const *verb = verbs; *verb; verb++)
		if (!strcmp(name, (*verb)->name))
			return finish_output(run_verb(*verb, argc - 1, argv + 1));
	fputs("kymo: unknown verb '", stderr);
	kymo_text_put(stderr, name);
	fputs("'; kymo --help lists them\n", stderr);
	return KYMO_EXIT_USAGE;
}
