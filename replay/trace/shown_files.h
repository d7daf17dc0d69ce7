// SPDX-License-Identifier: Apache-2.0
/*
 * Whose code people are shown: the project's own (format/project_paths.h), or that of files they name.  Of a trace in which no code is the
 * project's all is shown.
 */
#ifndef KYMO_REPLAY_TRACE_SHOWN_FILES_H
#define KYMO_REPLAY_TRACE_SHOWN_FILES_H

#include "format/project_paths.h"
#include "replay/trace/definitions.h"

struct kymo_shown_files {
	struct kymo_project project;
	const char *file;    /* only files like this; NULL: the project's */
	bool has_everything; /* all are shown */
	/* the last answer */
	const struct kymo_content *asked;
	bool is_shown;
};

/* Fill in ->project and ->has_everything from what @definitions names.  Before, @shown is zeroed, or ->file is set. */
void kymo_shown_files_read(struct kymo_shown_files *shown, const struct kymo_definitions *definitions);

/* True if code of this file, or of one that is not known, is shown. */
bool kymo_shown_files_has(struct kymo_shown_files *shown, const struct kymo_content *content);

/* True if @pattern, a glob, means @file: without a slash its last part; else the whole, or what lies in any folder. */
bool kymo_file_is_like(const char *file, const char *pattern);

#endif
