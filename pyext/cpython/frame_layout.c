// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/frames.h"

#include "pyext/cpython/frame_layout.h"

const struct kymo_frame_layout kymo_frame_layout = {
#ifdef Py_GIL_DISABLED /* each thread has its own bytecode */
	.frame_instruction = 0,
#elif PY_VERSION_HEX >= 0x030d0000
	.frame_code = offsetof(_PyInterpreterFrame, f_executable),
	.frame_instruction = offsetof(_PyInterpreterFrame, instr_ptr),
#else
	.frame_code = offsetof(_PyInterpreterFrame, f_code),
	.frame_instruction = offsetof(_PyInterpreterFrame, prev_instr),
#endif
	.code_mask = ~UINT64_C(7), /* the lowest bits say who owns the reference */
	.code_units = offsetof(PyVarObject, ob_size),
	.code_bytecode = offsetof(PyCodeObject, co_code_adaptive),
};
