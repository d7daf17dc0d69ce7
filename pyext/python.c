// SPDX-License-Identifier: Apache-2.0
#include "pyext/python.h"

#include "pyext/locks.h"

/* All interpreters that ever existed; ids are not reused. */
static struct kymo_python *_Atomic pythons;

struct kymo_python *kymo_python_find(void)
{
	int64_t interpreter = PyInterpreterState_GetID(PyInterpreterState_Get());
	struct kymo_python *python = pythons;

	while (python && python->host.interpreter != interpreter)
		python = python->next;
	return python;
}

void kymo_python_add(struct kymo_python *python)
{
	kymo_lock(KYMO_LOCK_PYTHONS);
	python->next = pythons;
	pythons = python;
	kymo_unlock(KYMO_LOCK_PYTHONS);
}
