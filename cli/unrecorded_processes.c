// SPDX-License-Identifier: Apache-2.0
#include "cli/unrecorded_processes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "replay/trace/describe.h"
#include "replay/trace/text.h"

const Kymo__Unrecorded *kymo_unrecorded_next(const struct kymo_definitions *definitions, size_t *at)
{
	while (*at < definitions->kept_count) {
		const Kymo__Definition *message = definitions->kept[(*at)++];

		if (message->kind_case == KYMO__DEFINITION__KIND_UNRECORDED)
			return message->unrecorded;
	}
	return NULL;
}

static const struct kymo_traced_process *parent_of(const struct kymo_definitions *definitions,
						   const Kymo__Unrecorded *unrecorded)
{
	for (size_t i = 0; i < definitions->process_count && *unrecorded->forked_from; i++)
		if (!strcmp(definitions->processes[i].folder, unrecorded->forked_from))
			return &definitions->processes[i];
	return NULL;
}

void kymo_unrecorded_put_command(const struct kymo_definitions *definitions, const Kymo__Unrecorded *unrecorded)
{
	const struct kymo_traced_process *parent = parent_of(definitions, unrecorded);
	char count[KYMO_TEXT_BYTES];

	if (parent) {
		printf("fork of %" PRIu32 ": ", parent->pid);
		kymo_process_put_command(stdout, parent);
	} else if (unrecorded->count) {
		printf("%s more process%s", kymo_text_count(unrecorded->count, count),
		       unrecorded->count == 1 ? "" : "es");
	} else {
		kymo_text_put(stdout, *unrecorded->command ? unrecorded->command : "?");
	}
}

void kymo_unrecorded_print(const struct kymo_definitions *definitions, uint64_t pid)
{
	const Kymo__Unrecorded *unrecorded;

	for (size_t at = 0; (unrecorded = kymo_unrecorded_next(definitions, &at));) {
		if (pid && unrecorded->pid != pid)
			continue;
		if (unrecorded->pid)
			printf("process %" PRIu32 "  ", unrecorded->pid);
		kymo_unrecorded_put_command(definitions, unrecorded);
		fputs("\n  not recorded: ", stdout);
		kymo_text_put(stdout, unrecorded->reason);
		putchar('\n');
	}
}

json_t *kymo_unrecorded_json(const struct kymo_definitions *definitions, uint64_t pid)
{
	const Kymo__Unrecorded *unrecorded;
	json_t *array = json_array();

	for (size_t at = 0; (unrecorded = kymo_unrecorded_next(definitions, &at));) {
		const struct kymo_traced_process *parent = parent_of(definitions, unrecorded);

		if (!pid || unrecorded->pid == pid)
			json_array_append_new(
				array,
				json_pack("{so, so, so, so, sI}", "pid",
					  unrecorded->pid ? json_integer(unrecorded->pid) : json_null(), "parent",
					  parent ? json_integer(parent->number) : json_null(), "command",
					  *unrecorded->command ? kymo_json_text(unrecorded->command) : json_null(), "reason",
					  kymo_json_text(unrecorded->reason), "processes",
					  (json_int_t)(unrecorded->count ? unrecorded->count : 1)));
	}
	return array;
}
