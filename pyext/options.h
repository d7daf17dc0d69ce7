// SPDX-License-Identifier: Apache-2.0
/* The keyword options of kymo.start() as a Config. */
#ifndef KYMO_PYEXT_OPTIONS_H
#define KYMO_PYEXT_OPTIONS_H

#include "pyext/strings.h"
#include "recorder/session_create.h"

/*
 * Fill @config, which holds the defaults, from @options: a dict whose keys are the options of
 * `kymo record`, with underscores.  Strings live in @arena or in @options.  False with an
 * exception set.
 */
bool kymo_options_parse(PyObject *options, Kymo__Config *config, struct kymo_arena *arena);

#endif
