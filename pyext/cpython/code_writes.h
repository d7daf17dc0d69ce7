// SPDX-License-Identifier: Apache-2.0
/*
 * LINE switched off where CPython never asks whether it may be: what DISABLE leads to, written into the code object by us.
 * See docs/decisions/0011-lines-switched-off.md.
 *
 * That needs structs which no public header has.  So it is done only in versions in which it was verified, after a test
 * on a code object of our own, and unless the recording forbids it; otherwise such places cost their time.
 *
 * All functions: GIL held.
 */
#ifndef KYMO_PYEXT_CPYTHON_CODE_WRITES_H
#define KYMO_PYEXT_CPYTHON_CODE_WRITES_H

#include "pyext/python.h"

/*
 * Find out whether @python, which has a tool id and no events yet, may do it in this recording.  The first time in a process
 * the test runs: not while other tools are active or something traces the thread, who would see it.  False with an exception set,
 * such as KeyboardInterrupt, that is not the test's own.
 */
bool kymo_code_writes_begin(struct kymo_python *python, const Kymo__Config *config, bool is_alone);

/* LINE is on for our tool at @unit, if that is an instruction; false where kymo_code_writes_begin() said that it is not to be known. */
bool kymo_line_is_on(const struct kymo_python *python, const PyCodeObject *code, uint32_t unit);

/* Switch it off there, where it is on; @bytes: co_code. */
void kymo_line_switch_off(const struct kymo_python *python, PyCodeObject *code, uint32_t unit, const uint8_t *bytes);

#endif
