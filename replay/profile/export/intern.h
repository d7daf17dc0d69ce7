// SPDX-License-Identifier: Apache-2.0
/*
 * Numbers for things that a format defines once and then refers to: functions, names of exceptions, tasks.
 *
 * A number belongs to a pointer, in one of several roles.
 */
#ifndef KYMO_REPLAY_PROFILE_EXPORT_INTERN_H
#define KYMO_REPLAY_PROFILE_EXPORT_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/error.h"

/* The data of a table's entries follow this. */
struct kymo_interned {
	const void *key;
	uint32_t number; /* from 1; 0: the entry is free */
	uint32_t role;
};

/* Zeroed, and the size of an entry, struct kymo_interned included, set: empty. */
struct kymo_intern {
	size_t entry_bytes;
	uint8_t *entries;
	size_t capacity; /* a power of two, or 0 */
	uint32_t count;
};

/*
 * The entry of @key in @role. A new one gets the next number, is zeroed behind it, and sets *@is_new. Valid until the next call.
 * NULL: no memory.
 */
void *kymo_intern_add(struct kymo_intern *intern, const void *key, uint32_t role, bool *is_new);
/* Forget all. */
void kymo_intern_clear(struct kymo_intern *intern);
void kymo_intern_free(struct kymo_intern *intern);

static inline size_t kymo_intern_hash(const void *key, uint32_t role)
{
	uint64_t mixed = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15) + role * UINT64_C(0xc2b2ae3d27d4eb4f);

	return (size_t)(mixed >> 32);
}

/* The same, only if it exists; else NULL. */
static inline void *kymo_intern_find(const struct kymo_intern *intern, const void *key, uint32_t role)
{
	for (size_t at = kymo_intern_hash(key, role); intern->capacity; at++) {
		struct kymo_interned *entry =
			(struct kymo_interned *)(intern->entries + (at & (intern->capacity - 1)) * intern->entry_bytes);

		if (!entry->number)
			return NULL;
		if (entry->key == key && entry->role == role)
			return entry;
	}
	return NULL;
}

/* The entry at place @at of intern->capacity; NULL: none. */
static inline void *kymo_intern_at(const struct kymo_intern *intern, size_t at)
{
	struct kymo_interned *entry = (struct kymo_interned *)(intern->entries + at * intern->entry_bytes);

	return entry->number ? entry : NULL;
}

#endif
