// SPDX-License-Identifier: Apache-2.0
/*
 * Source files as the recorded programs and as the client know them.
 *
 * A client gets the path that the file had when it was recorded. It opens the file itself only if its contents are known to be what
 * was recorded; else it requests the text in the trace, by a reference. To know that, the file must be read, which is done only for
 * files that the user named: by a breakpoint, or as part of the source root.
 */
#ifndef KYMO_REPLAY_DEBUGGER_DAP_FILES_H
#define KYMO_REPLAY_DEBUGGER_DAP_FILES_H

#include "replay/debugger/dap_session.h"

struct kymo_dap_file {
	const char *recorded;                      /* as code objects have it */
	const struct kymo_traced_process *process; /* that ran it */
	const struct kymo_content *content;        /* one that is of it */
	const struct kymo_source_place *kept;      /* its text, which the process kept of code that is in no file; NULL: it is a file's */
	char *path;                                /* absolute, of the client */
	bool is_named;                             /* by the user */
	bool is_known;                             /* the next one is */
	bool is_on_disk;                           /* at @path, as it was recorded */
};

/* Files are looked for below @folder, too. */
KYMO_MUST_CHECK
int kymo_dap_set_source_root(struct kymo_dap *dap, const char *folder, struct kymo_error *error);
KYMO_MUST_CHECK
int kymo_dap_list_files(struct kymo_dap *dap, struct kymo_error *error);
void kymo_dap_forget_files(struct kymo_dap *dap);

/* The file that @content is of. */
struct kymo_dap_file *kymo_dap_file(const struct kymo_dap *dap, const struct kymo_content *content);
/* True if a client's "source" is @file. */
bool kymo_dap_names_file(const struct kymo_dap *dap, const json_t *source, const struct kymo_dap_file *file);
/* The user named @file: it may be looked at. */
void kymo_dap_name_file(struct kymo_dap_file *file);

/* The "source" of @file, for a client. */
json_t *kymo_dap_source_of(struct kymo_dap *dap, struct kymo_dap_file *file);

#endif
