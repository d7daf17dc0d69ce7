// SPDX-License-Identifier: Apache-2.0
/*
 * Debuggers move a frame by setting its f_lineno, which has no event: lines that are rebuilt would be wrong from there
 * on.  So the setter is watched.
 */
#ifndef KYMO_PYEXT_FRAME_JUMPS_H
#define KYMO_PYEXT_FRAME_JUMPS_H

/*
 * From now on the stack of a thread that moves a frame is told anew.  For as long as the process lives; any number of
 * times, in any interpreter.  GIL held.
 */
void kymo_watch_frame_jumps(void);

#endif
