// SPDX-License-Identifier: Apache-2.0
/* Which code the user wants recorded: decided once per code object, by its file name. */
#ifndef KYMO_PYEXT_CODE_FILTER_H
#define KYMO_PYEXT_CODE_FILTER_H

#include <stdbool.h>

#include "format/metadata.pb-c.h"
#include "format/project_paths.h"

/*
 * Decide by @config from now on; it must live until kymo_filter_clear().  @package is the folder of the
 * extension, whose own code is never recorded; @stdlib that of the standard library; @project has this
 * interpreter's prefix.  All three are copied.  All functions: any thread.
 */
void kymo_filter_set(const Kymo__Config *config, const char *package, const char *stdlib, const struct kymo_project *project);

/* Nothing is wanted any more. */
void kymo_filter_clear(void);

/* True if code of @file (co_filename) is to be recorded. */
bool kymo_filter_wants(const char *file);

/* True if values in the code @qualname of @file are to be recorded, in a recording of values. */
bool kymo_filter_wants_values(const char *file, const char *qualname);

#endif
