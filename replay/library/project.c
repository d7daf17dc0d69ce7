// SPDX-License-Identifier: Apache-2.0
#define KYMO_PROJECT_API __attribute__((visibility("default")))
#include "replay/library/project.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/trace/shown_files.h"
#include "replay/trace/timeline.h"

struct kymo_project_files {
	struct kymo_shown_files shown;
};

static int read_trace(struct kymo_project_files *project, const char *path, struct kymo_error *error)
{
	struct kymo_timeline timeline;
	int result = kymo_timeline_open(&timeline, path, 0, error);

	if (result)
		return result;
	kymo_shown_files_read(&project->shown, &timeline.definitions);
	kymo_timeline_close(&timeline);
	return 0;
}

int kymo_project_open(const char *path, struct kymo_project_files **out, char *message, size_t message_bytes)
{
	struct kymo_project_files *project = calloc(1, sizeof(*project));
	struct kymo_error error;
	int result = project ? 0 : kymo_fail(&error, -ENOMEM, "out of memory");

	if (!result && path)
		result = read_trace(project, path, &error);
	if (result) {
		kymo_error_copy(&error, message, message_bytes);
		free(project);
		return result;
	}
	*out = project;
	return 0;
}

void kymo_project_close(struct kymo_project_files *project)
{
	free(project);
}

void kymo_project_saw(struct kymo_project_files *project, const char *file)
{
	kymo_project_learn(&project->shown.project, file);
}

int kymo_project_owns(const struct kymo_project_files *project, const char *file)
{
	return kymo_project_has(&project->shown.project, file);
}

int kymo_project_is_absent(const struct kymo_project_files *project)
{
	return project->shown.has_everything;
}

int kymo_project_is_like(const char *file, const char *pattern)
{
	return kymo_file_is_like(file, pattern);
}
