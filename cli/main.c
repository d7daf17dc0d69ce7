// SPDX-License-Identifier: Apache-2.0
/* `kymo`: finds the verb and hands over. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "replay/trace/text.h"

static const struct command {
	const char *name;
	const char *summary; /* NULL: not for people */
	int (*run)(int argc, char **argv);
} commands[] = {
	{"record", "run a command and record every Python that it starts", kymo_command_record},
	{"info", "what a trace holds", kymo_command_info},
	{"ps", "the processes of a trace, and of recordings that run now", kymo_command_ps},
	{"stats", "counts per event kind and function", kymo_command_stats},
	{"top", "the functions that took most time, of a recording that runs, too", kymo_command_top},
	{"events", "the events themselves, as text or JSON lines", kymo_command_events},
	{"source", "source files as they were when they were recorded", kymo_command_source},
	{"tail", "the last events of every thread, and how the process ended", kymo_command_tail},
	{"replay", "step through a recorded run, forwards and backwards", kymo_command_replay},
	{"diff", "where two recorded runs parted, and why", kymo_command_diff},
	{"dap", "let an editor's debugger go through a trace, forwards and backwards", kymo_command_dap},
	{"report", "one page of a recorded run, for a browser", kymo_command_report},
	{"coverage", "which lines and branches ran, and how often, in the formats of coverage tools", kymo_command_coverage},
	{"combine", "make one small file of the counts of several recordings", kymo_command_combine},
	{"export", "write the calls of a trace in the formats of profilers and trace viewers", kymo_command_export},
	{"suspects", "what goes with failing, over many attempts", kymo_command_suspects},
	{"index", "make what replay needs to find its way in a long trace", kymo_command_index},
	{"verify", "check every byte of a trace", kymo_command_verify},
	{"salvage", "make a trace of what a killed reader left", kymo_command_salvage},
	{"snapshot", "keep what the rings of a running process hold now", kymo_command_snapshot},
	{"_read", NULL, kymo_command_read},
};

static void print_help(void)
{
	printf("usage: kymo VERB [options] …\n\nA flight recorder for CPython.\n\n");
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (commands[i].summary)
			printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	printf("\nkymo VERB --help describes a verb; kymo --version prints the version.\n");
}

static int run(const struct command *command, int argc, char **argv)
{
	char name[32];
	char *first = name;

	/* getopt_long() begins its messages with argv[0]. */
	snprintf(name, sizeof name, "kymo %s", command->name);
	argv[0] = first;
	return command->run(argc, argv);
}

/* Output that could not be written is a failure, and one that nobody reads a quiet one. */
static int finish(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		fprintf(stderr, "kymo: cannot write: %s\n", strerror(errno));
	return status ? status : KYMO_EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "--help";

	if (!strcmp(verb, "--help") || !strcmp(verb, "-h") || !strcmp(verb, "help")) {
		print_help();
		return finish(argc > 1 ? KYMO_EXIT_OK : KYMO_EXIT_USAGE);
	}
	if (!strcmp(verb, "--version") || !strcmp(verb, "-V")) {
		printf("kymo %s\n", KYMO_VERSION);
		return finish(KYMO_EXIT_OK);
	}
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(verb, commands[i].name))
			return finish(run(&commands[i], argc - 1, argv + 1));
	fputs("kymo: no verb '", stderr);
	kymo_text_put(stderr, verb);
	fputs("'; kymo --help lists them\n", stderr);
	return KYMO_EXIT_USAGE;
}
