// SPDX-License-Identifier: Apache-2.0
#define Py_BUILD_CORE 1
#include "pyext/cpython/cpython.h"

#include <opcode.h>

#include "internal/pycore_code.h"
#include "internal/pycore_instruments.h"

#if PY_VERSION_HEX < 0x030d0000
/* The instruction at @unit, under the instrumentation that other tools may have put on it. */
static bool is_for_iter(const PyCodeObject *code, uint32_t unit)
{
	const _PyCoMonitoringData *data = code->_co_monitoring;
	uint8_t opcode = _PyCode_CODE(code)[unit].op.code;

	if (opcode == INSTRUMENTED_LINE && data && data->lines)
		opcode = data->lines[unit].original_opcode;
	if (opcode == INSTRUMENTED_INSTRUCTION && data && data->per_instruction_opcodes)
		opcode = data->per_instruction_opcodes[unit];
	return opcode == INSTRUMENTED_FOR_ITER;
}
#endif

bool kymo_branch_is_taken(PyObject *code, uint32_t offset, uint32_t dest)
{
#if PY_VERSION_HEX >= 0x030d0000
	/* Every branch has one cache unit behind it. */
	(void)code;
	return dest != offset + 4;
#else
	/* Here only FOR_ITER has: a step of two units is its fall-through, or a jump over one. */
	if (dest == offset + 4)
		return !is_for_iter((PyCodeObject *)code, offset / 2);
	return dest != offset + 2;
#endif
}

uint32_t kymo_entry_offset(const uint8_t *bytecode, size_t bytes)
{
	/* In co_code all caches are zero, so that no cache looks like an instruction.
	 * Generator expressions of 3.15 have another RESUME first, with a flag in its argument. */
	for (size_t at = 0; at + 1 < bytes; at += 2) {
		if (bytecode[at] == RESUME && bytecode[at + 1] == 0)
			return (uint32_t)at;
	}
	return 0;
}

PyObject *kymo_code_bytes(PyCodeObject *code)
{
	bool was_cached = code->_co_cached && code->_co_cached->_co_code;
	PyObject *bytes = PyCode_GetCode(code);

	if (!bytes)
		PyErr_Clear();
	if (!was_cached && code->_co_cached)
		Py_CLEAR(code->_co_cached->_co_code);
	return bytes;
}
