// SPDX-License-Identifier: Apache-2.0
/*
 * Switch LINE off at places where CPython never delivers it, so that DISABLE cannot: write into the code object what
 * DISABLE would have.  See docs/decisions/0011-lines-switched-off.md.
 *
 * That needs structs which no public header has.  So it is done only in versions in which it was verified, after a test
 * on a code object of our own, and unless the recording forbids it; otherwise such places go on costing time.
 *
 * All functions: GIL held.
 */
#ifndef KYMO_PYEXT_CPYTHON_CODE_WRITES_H
#define KYMO_PYEXT_CPYTHON_CODE_WRITES_H

#include "pyext/python.h"

/*
 * Find out whether @python, which has a tool id and no events yet, may do it in this recording.  The first call in a process runs
 * the test, unless other tools are active or the thread is traced: they would see the test.  False with an exception set, such as
 * KeyboardInterrupt, that is not the test's own.
 */
bool kymo_code_writes_begin(struct kymo_python *python, const Kymo__Config *config, bool is_alone);

/* True if LINE is on for our tool at @unit and that is an instruction; always false if kymo_code_writes_begin() returned false. */
bool kymo_line_is_on(const struct kymo_python *python, const PyCodeObject *code, uint32_t unit);

/* Switch it off there, if it is on; @bytes: co_code. */
void kymo_line_switch_off(const struct kymo_python *python, PyCodeObject *code, uint32_t unit, const uint8_t *bytes);

#endif
