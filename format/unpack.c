// SPDX-License-Identifier: Apache-2.0
#include "format/unpack.h"

#include <errno.h>
#include <stdlib.h>

struct budget {
	size_t limit, taken;
	int failed; /* 0, -E2BIG or -ENOMEM */
};

static void *budget_alloc(void *data, size_t bytes)
{
	struct budget *budget = data;
	void *memory = NULL;

	if (bytes > budget->limit - budget->taken) {
		budget->failed = -E2BIG;
		return NULL;
	}
	memory = malloc(bytes);
	if (memory)
		budget->taken += bytes;
	else
		budget->failed = -ENOMEM;
	return memory;
}

static void budget_free(void *data, void *memory)
{
	(void)data;
	free(memory);
}

int kymo_unpack(const uint8_t *bytes, size_t length, Kymo__Definition **definition, size_t *taken)
{
	struct budget budget = {.limit = length + KYMO_UNPACK_MAX_BYTES};
	ProtobufCAllocator allocator = {budget_alloc, budget_free, &budget};

	*definition = kymo__definition__unpack(&allocator, length, bytes);
	if (taken)
		*taken = budget.taken;
	return *definition ? 0 : budget.failed ? budget.failed : -EBADMSG;
}
