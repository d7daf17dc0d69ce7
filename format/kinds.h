// SPDX-License-Identifier: Apache-2.0
/* Names of event kinds: those of sys.monitoring.events. */
#ifndef KYMO_FORMAT_KINDS_H
#define KYMO_FORMAT_KINDS_H

#include "format/record.h"

/* "PY_START" for KYMO_PY_START and KYMO_PY_START_AT, and so on; NULL if @kind is no event. */
const char *kymo_kind_name(enum kymo_kind kind);

/* The kind called @name (@length bytes, any case), or KYMO_KIND_SPECIAL if there is none. */
enum kymo_kind kymo_kind_find(const char *name, size_t length);

#endif
