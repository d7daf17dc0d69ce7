// SPDX-License-Identifier: Apache-2.0
/* What the recorder of values keeps of a code object, for capture.c and blocks.c.  GIL held. */
#ifndef KYMO_PYEXT_VALUES_CODE_VALUES_H
#define KYMO_PYEXT_VALUES_CODE_VALUES_H

#include <stdint.h>

struct kymo_code_values {
	uint8_t *secrets; /* names in records VALUES whose values are left out, one bit each; NULL: none */
	uint32_t *names; /* those of co_names that are looked up in namespaces */
	uint32_t name_count;
	uint32_t room; /* bytes for the names of all values that an event may have */
};

/* Another recording begins, or the code object ends. */
void kymo_code_values_forget(struct kymo_code_values *values);

#endif
