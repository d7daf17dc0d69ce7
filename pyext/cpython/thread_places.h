// SPDX-License-Identifier: Apache-2.0
/* Where threads are when their recording ends without an event: before exec, and where it is stopped. */
#ifndef KYMO_PYEXT_THREAD_PLACES_H
#define KYMO_PYEXT_THREAD_PLACES_H

#include "pyext/python.h"

/*
 * From now on the ring of a thread that executes another program has the place where it did
 * (docs/decisions/0012-where-threads-end.md).  Adds an audit hook, which stays to the end of the process; may be called
 * any number of times.  GIL held.
 */
void kymo_thread_places_watch_exec(void);

/* Write into the rings of all threads of the calling interpreter where they are now; kymo_process_stop() follows. */
void kymo_thread_places_tell(const struct kymo_python *python);

#endif
