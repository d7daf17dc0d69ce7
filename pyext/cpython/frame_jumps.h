// SPDX-License-Identifier: Apache-2.0
/*
 * Debuggers move a frame by setting its f_lineno, which has no event: lines that are rebuilt would be wrong from there
 * on.  So the setter is watched.
 */
#ifndef KYMO_PYEXT_CPYTHON_FRAME_JUMPS_H
#define KYMO_PYEXT_CPYTHON_FRAME_JUMPS_H

/*
 * From now on the stack of a thread that moves a frame is written again.  Applies to all interpreters of the process; may be
 * called any number of times.  GIL held.
 */
void kymo_frame_jumps_watch(void);

/* Stop watching: the setter is CPython's again, unless another tool has put its own before ours; then ours does nothing.  GIL held. */
void kymo_frame_jumps_leave(void);

#endif
