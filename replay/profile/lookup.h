// SPDX-License-Identifier: Apache-2.0
/* Finding numbers by what they stand for: a hash table that only knows the hashes. */
#ifndef KYMO_REPLAY_PROFILE_LOOKUP_H
#define KYMO_REPLAY_PROFILE_LOOKUP_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct kymo_lookup {
	struct kymo_lookup_slot {
		uint32_t hash;
		uint32_t number; /* from 1; 0: free */
	} *slots;
	size_t count, mask;
};

static inline uint64_t kymo_hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* The first number with @hash in *@at or behind; 0: no more. Begin with *@at = @hash, continue with *@at + 1. */
static inline uint32_t kymo_lookup_next(const struct kymo_lookup *lookup, uint32_t hash, size_t *at)
{
	if (!lookup->slots)
		return 0;
	for (*at &= lookup->mask; lookup->slots[*at].number; *at = (*at + 1) & lookup->mask)
		if (lookup->slots[*at].hash == hash)
			return lookup->slots[*at].number;
	return 0;
}

/* Add @number, which is not 0.  0 or -ENOMEM. */
static inline int kymo_lookup_add(struct kymo_lookup *lookup, uint32_t hash, uint32_t number)
{
	size_t at = hash;

	if (2 * lookup->count >= lookup->mask) {
		size_t mask = lookup->mask ? 2 * lookup->mask + 1 : 1023;
		struct kymo_lookup_slot *slots = calloc(mask + 1, sizeof(*slots));

		if (!slots)
			return -ENOMEM;
		for (size_t i = 0; lookup->slots && i <= lookup->mask; i++) {
			size_t to = lookup->slots[i].hash & mask;

			if (!lookup->slots[i].number)
				continue;
			while (slots[to].number)
				to = (to + 1) & mask;
			slots[to] = lookup->slots[i];
		}
		free(lookup->slots);
		lookup->slots = slots;
		lookup->mask = mask;
	}
	for (at &= lookup->mask; lookup->slots[at].number; at = (at + 1) & lookup->mask)
		;
	lookup->slots[at] = (struct kymo_lookup_slot){hash, number};
	lookup->count++;
	return 0;
}

#endif
