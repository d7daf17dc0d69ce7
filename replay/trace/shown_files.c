// SPDX-License-Identifier: Apache-2.0
#include "replay/trace/shown_files.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

bool kymo_file_is_like(const char *file, const char *pattern)
{
	const char *slash = strrchr(file, '/');
	char anywhere[PATH_MAX];

	if (!strchr(pattern, '/'))
		return !fnmatch(pattern, slash ? slash + 1 : file, 0);
	if (!fnmatch(pattern, file, 0))
		return true;
	return *pattern != '/' && snprintf(anywhere, sizeof(anywhere), "*/%s", pattern) < PATH_MAX && !fnmatch(anywhere, file, 0);
}

void kymo_shown_files_read(struct kymo_shown_files *shown, const struct kymo_definitions *definitions)
{
	shown->has_everything = true;
	for (size_t p = 0; p < definitions->process_count; p++) {
		const struct kymo_traced_process *process = &definitions->processes[p];

		if (process->definition)
			shown->project.has_command |= kymo_given_code(process->definition->argv, process->definition->n_argv) != NULL;
		for (size_t i = 0; i < process->contents.count; i++)
			kymo_project_learn(&shown->project, ((const struct kymo_content *)process->contents.items[i].value)->file);
	}
	for (size_t p = 0; p < definitions->process_count && shown->has_everything; p++) {
		const struct kymo_table *contents = &definitions->processes[p].contents;

		for (size_t i = 0; i < contents->count && shown->has_everything; i++)
			shown->has_everything = !kymo_project_has(&shown->project,
								  ((const struct kymo_content *)contents->items[i].value)->file);
	}
}

bool kymo_shown_files_has(struct kymo_shown_files *shown, const struct kymo_content *content)
{
	if (!content)
		return !shown->file;
	if (content == shown->asked)
		return shown->is_shown;
	shown->asked = content;
	shown->is_shown = shown->file ? kymo_file_is_like(content->file, shown->file)
				      : shown->has_everything || kymo_project_has(&shown->project, content->file);
	return shown->is_shown;
}
