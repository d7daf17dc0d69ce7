// SPDX-License-Identifier: Apache-2.0
#include "replay/values/value_ticks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S INT64_C(86400)

/* Either seconds per unit, or units per second; months have neither. */
static const struct unit {
	const char *name;
	int64_t seconds, fractions;
	int months, digits;
} units[] = {
	{"Y", 0, 0, 12, 0}, {"M", 0, 0, 1, 0}, {"W", 7 * DAY_S, 1, 0, 0}, {"D", DAY_S, 1, 0, 0}, {"h", 3600, 1, 0, 0},
	{"m", 60, 1, 0, 0}, {"s", 1, 1, 0, 0}, {"ms", 1, 1000, 0, 3}, {"us", 1, 1000000, 0, 6}, {"ns", 1, 1000000000, 0, 9},
};

/* The date that is @days days after 1970-01-01. */
static void civil(int64_t days, int64_t *year, int *month, int *day)
{
	/* Years begin in March, so that the leap day is the last: eras of 400 years, 146097 days. */
	int64_t shifted = days + 719468, era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
	int64_t of_era = shifted - era * 146097;
	int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t part = (5 * of_year + 2) / 153;

	*day = (int)(of_year - (153 * part + 2) / 5 + 1);
	*month = (int)(part < 10 ? part + 3 : part - 9);
	*year = year_of_era + era * 400 + (*month <= 2);
}

/* How many units a tick is, from "[15m]". */
static const struct unit *read_unit(const char *text, size_t bytes, int64_t *count)
{
	char name[24], *at;

	if (bytes < 3 || bytes >= sizeof(name) || text[0] != '[' || text[bytes - 1] != ']')
		return NULL;
	memcpy(name, text + 1, bytes - 2);
	name[bytes - 2] = '\0';
	*count = strtol(name, &at, 10);
	*count = at == name ? 1 : *count;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(units[i].name, at))
			return &units[i];
	return NULL;
}

static int64_t floor_divide(int64_t a, int64_t b, int64_t *rest)
{
	int64_t quotient = a / b;

	*rest = a % b;
	if (*rest < 0) {
		*rest += b;
		quotient--;
	}
	return quotient;
}

/* The fraction of a second; nothing if it is 0. */
static void put_fraction(char *text, int64_t fraction, int digits)
{
	int length = fraction ? snprintf(text, 16, ".%0*" PRId64, digits, fraction) : 0;

	while (length && text[length - 1] == '0')
		text[--length] = '\0';
}

static void put_clock(char *text, int64_t second, int64_t fraction, int digits, int of_hour)
{
	int length = sprintf(text, "%0*d:%02d:%02d", of_hour, (int)(second / 3600), (int)(second / 60 % 60), (int)(second % 60));

	put_fraction(text + length, fraction, digits);
}

static void put_date(char *text, const struct unit *unit, int64_t seconds, int64_t fraction)
{
	int64_t second, days = floor_divide(seconds, DAY_S, &second), year;
	int month, day;

	civil(days, &year, &month, &day);
	text += sprintf(text, "%04" PRId64 "-%02d-%02d", year, month, day);
	if (unit->seconds < DAY_S) {
		*text++ = ' ';
		put_clock(text, second, fraction, unit->digits, 2);
	}
}

/* As in datetime.timedelta: days may be negative, the other parts are not. */
static void put_duration(char *text, int64_t seconds, int64_t fraction, int digits)
{
	int64_t second, days = floor_divide(seconds, DAY_S, &second);

	if (days)
		text += sprintf(text, "%" PRId64 " day%s, ", days, days == 1 || days == -1 ? "" : "s");
	put_clock(text, second, fraction, digits, 1);
}

static void put_months(char *text, const struct unit *unit, int64_t ticks, bool is_date)
{
	int64_t month, years = floor_divide(ticks, 12, &month);

	if (!is_date)
		sprintf(text, "%" PRId64 " %s", ticks / unit->months, unit->months == 12 ? "years" : "months");
	else if (unit->months == 12)
		sprintf(text, "%04" PRId64, years + 1970);
	else
		sprintf(text, "%04" PRId64 "-%02d", years + 1970, (int)month + 1);
}

bool kymo_ticks_text(const char *dtype, size_t bytes, int64_t ticks, char text[KYMO_TICKS_TEXT_BYTES])
{
	bool is_date = bytes > 10 && !memcmp(dtype, "datetime64", 10);
	size_t head = is_date ? 10 : 11;
	const struct unit *unit = NULL;
	int64_t count, seconds, fraction;

	if (is_date || (bytes > 11 && !memcmp(dtype, "timedelta64", 11)))
		unit = read_unit(dtype + head, bytes - head, &count);
	if (!unit)
		return false;
	if (ticks == INT64_MIN) {
		strcpy(text, "NaT");
		return true;
	}
	if (__builtin_mul_overflow(ticks, count, &ticks) || __builtin_mul_overflow(ticks, unit->months ? unit->months : unit->seconds, &ticks))
		return false;
	if (unit->months) {
		put_months(text, unit, ticks, is_date);
		return true;
	}
	seconds = floor_divide(ticks, unit->fractions, &fraction);
	if (is_date)
		put_date(text, unit, seconds, fraction);
	else
		put_duration(text, seconds, fraction, unit->digits);
	return true;
}
