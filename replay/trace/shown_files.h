// SPDX-License-Identifier: Apache-2.0
/*
 * Which code is shown to users: the project's own (format/project_paths.h), or that of files they name. If no code of a trace is the
 * project's, all is shown.
 */
#ifndef KYMO_REPLAY_TRACE_SHOWN_FILES_H
#define KYMO_REPLAY_TRACE_SHOWN_FILES_H

#include "format/project_paths.h"
#include "replay/trace/definitions.h"

struct kymo_shown_files {
	struct kymo_project project;
	const char *file;    /* only files that match; NULL: the project's */
	bool has_everything; /* all are shown */
	/* the last answer */
	const struct kymo_content *asked;
	bool is_shown;
};

/*
 * Fill in ->project and ->has_everything from the files in @definitions. Before the call, @shown is zeroed, except that ->file may
 * be set.
 */
void kymo_shown_files_read(struct kymo_shown_files *shown, const struct kymo_definitions *definitions);

/* True if code of this file is shown; an unknown file is. */
bool kymo_shown_files_has(struct kymo_shown_files *shown, const struct kymo_content *content);

/* True if the glob @pattern matches @file: without a slash, the last part; else the whole path, or a trailing part of it. */
bool kymo_file_is_like(const char *file, const char *pattern);

#endif
