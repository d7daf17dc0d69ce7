// SPDX-License-Identifier: Apache-2.0
#include "format/flow.h"

static const struct kymo_opcode cpython_3_12[256] = {
#include "format/opcodes/cpython_3_12.h"
};

static const struct kymo_opcode cpython_3_13[256] = {
#include "format/opcodes/cpython_3_13.h"
};

static const struct kymo_opcode cpython_3_14[256] = {
#include "format/opcodes/cpython_3_14.h"
};

static const struct kymo_opcode cpython_3_15[256] = {
#include "format/opcodes/cpython_3_15.h"
};

const struct kymo_opcode *kymo_opcodes(uint32_t version)
{
	switch (version) {
	case KYMO_CPYTHON_3_12:
		return cpython_3_12;
	case KYMO_CPYTHON_3_13:
		return cpython_3_13;
	case KYMO_CPYTHON_3_14:
		return cpython_3_14;
	case KYMO_CPYTHON_3_15:
		return cpython_3_15;
	default:
		return NULL;
	}
}
