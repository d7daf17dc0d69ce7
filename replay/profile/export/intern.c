// SPDX-License-Identifier: Apache-2.0
#include "replay/profile/export/intern.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 256

static struct kymo_interned *entry_at(const struct kymo_intern *intern, size_t at)
{
	return (struct kymo_interned *)(intern->entries + (at & (intern->capacity - 1)) * intern->entry_bytes);
}

static struct kymo_interned *find_free(const struct kymo_intern *intern, const void *key, uint32_t role)
{
	size_t at = kymo_intern_hash(key, role);

	while (entry_at(intern, at)->number)
		at++;
	return entry_at(intern, at);
}

static bool grow(struct kymo_intern *intern)
{
	struct kymo_intern grown = *intern;

	grown.capacity = intern->capacity ? 2 * intern->capacity : FIRST_CAPACITY;
	grown.entries = calloc(grown.capacity, grown.entry_bytes);
	if (!grown.entries)
		return false;
	for (size_t i = 0; i < intern->capacity; i++) {
		const struct kymo_interned *entry = entry_at(intern, i);

		if (entry->number)
			memcpy(find_free(&grown, entry->key, entry->role), entry, grown.entry_bytes);
	}
	free(intern->entries);
	*intern = grown;
	return true;
}

void *kymo_intern_add(struct kymo_intern *intern, const void *key, uint32_t role, bool *is_new)
{
	struct kymo_interned *entry = kymo_intern_find(intern, key, role);

	*is_new = !entry;
	if (entry)
		return entry;
	if (intern->count * UINT64_C(4) >= intern->capacity * UINT64_C(3) && !grow(intern))
		return NULL;
	entry = find_free(intern, key, role);
	entry->key = key;
	entry->role = role;
	entry->number = ++intern->count;
	return entry;
}

void kymo_intern_clear(struct kymo_intern *intern)
{
	if (intern->capacity)
		memset(intern->entries, 0, intern->capacity * intern->entry_bytes);
	intern->count = 0;
}

void kymo_intern_free(struct kymo_intern *intern)
{
	free(intern->entries);
	*intern = (struct kymo_intern){0};
}
