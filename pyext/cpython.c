// SPDX-License-Identifier: Apache-2.0
#define Py_BUILD_CORE 1
#include "pyext/cpython.h"

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

bool kymo_line_is_on(const PyCodeObject *code, uint32_t unit, int tool)
{
	const _PyCoMonitoringData *data = code->_co_monitoring;

	if (!data || !data->lines || _PyCode_CODE((PyCodeObject *)(uintptr_t)code)[unit].op.code != INSTRUMENTED_LINE)
		return false;
	return (data->line_tools ? data->line_tools[unit] : data->active_monitors.tools[PY_MONITORING_EVENT_LINE]) >> tool & 1;
}

/* What INSTRUMENTED_LINE at @unit stands for; CACHE: not known.  3.13.5 has the layout of 3.14, whatever this was compiled with, 3.13.0 that of 3.12. */
static uint8_t line_opcode(const _PyCoMonitoringData *data, uint32_t unit)
{
	const uint8_t *bytes = (const uint8_t *)data->lines;

	if (Py_Version < 0x030d0100)
		return bytes[2 * (size_t)unit];
	return Py_Version < 0x030d0500 ? CACHE : bytes[1 + (size_t)unit * bytes[0]];
}

/* What @opcode of a branch is while BRANCH is on; otherwise @opcode. */
static uint8_t with_branch_event(uint8_t opcode)
{
	switch (opcode) {
	case FOR_ITER:
		return INSTRUMENTED_FOR_ITER;
	case POP_JUMP_IF_FALSE:
		return INSTRUMENTED_POP_JUMP_IF_FALSE;
	case POP_JUMP_IF_NONE:
		return INSTRUMENTED_POP_JUMP_IF_NONE;
	case POP_JUMP_IF_NOT_NONE:
		return INSTRUMENTED_POP_JUMP_IF_NOT_NONE;
	case POP_JUMP_IF_TRUE:
		return INSTRUMENTED_POP_JUMP_IF_TRUE;
#if KYMO_HAS_BRANCH_SIDES
	case NOT_TAKEN:
		return INSTRUMENTED_NOT_TAKEN;
#endif
	default:
		return opcode;
	}
}

void kymo_line_switch_off(PyCodeObject *code, uint32_t unit, int tool, uint8_t opcode)
{
	_PyCoMonitoringData *data = code->_co_monitoring;
	uint8_t bit = (uint8_t)(1U << tool), under = line_opcode(data, unit);

	/* Events of other tools, and no instruction at all: left as it is. */
	if (opcode == CACHE || (under != opcode && under != with_branch_event(opcode)))
		return;
	if (data->line_tools)
		data->line_tools[unit] &= (uint8_t)~bit;
	if (data->line_tools ? !data->line_tools[unit] : data->active_monitors.tools[PY_MONITORING_EVENT_LINE] == bit)
		_PyCode_CODE(code)[unit].op.code = under;
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
