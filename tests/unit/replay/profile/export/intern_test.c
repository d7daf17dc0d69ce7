// SPDX-License-Identifier: Apache-2.0
#include "replay/profile/export/intern.h"

#include <criterion/criterion.h>

struct entry {
	struct kymo_interned interned;
	int value;
};

Test(intern, numbers_places_in_roles)
{
	static const char places[5000];
	struct kymo_intern intern = {.entry_bytes = sizeof(struct entry)};
	bool is_new;

	cr_assert_null(kymo_intern_find(&intern, places, 0));
	for (int i = 0; i < 5000; i++) {
		for (uint32_t role = 0; role < 2; role++) {
			struct entry *entry = kymo_intern_add(&intern, &places[i], role, &is_new);

			cr_assert(is_new);
			cr_assert_eq(entry->value, 0);
			cr_assert_eq(entry->interned.number, 2 * (uint32_t)i + role + 1);
			entry->value = i;
		}
	}
	for (int i = 0; i < 5000; i++) {
		struct entry *entry = kymo_intern_find(&intern, &places[i], 1);

		cr_assert_eq(entry->value, i);
		cr_assert_eq(kymo_intern_add(&intern, &places[i], 1, &is_new), entry);
		cr_assert_not(is_new);
	}
	cr_assert_null(kymo_intern_find(&intern, places, 2));
	kymo_intern_clear(&intern);
	cr_assert_null(kymo_intern_find(&intern, places, 0));
	cr_assert_eq(((struct entry *)kymo_intern_add(&intern, places, 0, &is_new))->interned.number, 1);
	kymo_intern_free(&intern);
}
