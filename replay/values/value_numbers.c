// SPDX-License-Identifier: Apache-2.0
#include "replay/values/value_numbers.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMB 1000000000U

/* How many digits of @number, finite and positive, are always exact: 15, or fewer if it has fewer significant bits. */
static int exact_digits(double number)
{
	uint64_t bits;

	if (number >= DBL_MIN)
		return 15;
	memcpy(&bits, &number, sizeof bits);
	return (63 - __builtin_clzll(bits)) * 30103 / 100000; /* log10(2) */
}

/* The fewest digits from which @number, finite and positive, is read back; its value is 0.ddd × 10^@point. */
static size_t shortest_digits(double number, char digits[20], int *point)
{
	char text[40];
	size_t count = 0;
	int exact = exact_digits(number);

	for (int precision = exact ? exact : 1; precision <= 17; precision++) {
		snprintf(text, sizeof text, "%.*e", precision - 1, number);
		if (strtod(text, NULL) == number)
			break;
		/* Above a power of two floats are further apart than below it: the next one up may be nearer than what is nearest. */
		if (precision == 16 && strtod(text, NULL) < number && strchr(text, 'e')[-1] != '9') {
			strchr(text, 'e')[-1]++;
			if (strtod(text, NULL) == number)
				break;
		}
	}
	for (const char *at = text; *at && *at != 'e'; at++)
		if (*at >= '0' && *at <= '9') /* whatever the decimal point is here */
			digits[count++] = *at;
	while (count > 1 && digits[count - 1] == '0')
		count--;
	*point = atoi(strchr(text, 'e') + 1) + 1;
	return count;
}

static char *put_zeros(char *at, int count)
{
	for (; count > 0; count--)
		*at++ = '0';
	return at;
}

static char *put_fixed(char *at, const char *digits, size_t count, int point, bool is_part)
{
	int whole = point < 0 ? 0 : (size_t)point < count ? point : (int)count;

	if (point <= 0)
		*at++ = '0';
	at = mempcpy(at, digits, (size_t)whole);
	at = put_zeros(at, point - whole);
	if ((size_t)whole == count && is_part)
		return at;
	*at++ = '.';
	at = put_zeros(at, -point);
	at = mempcpy(at, digits + whole, count - (size_t)whole);
	if ((size_t)whole == count)
		*at++ = '0';
	return at;
}

static char *put_exponent(char *at, const char *digits, size_t count, int point)
{
	*at++ = digits[0];
	if (count > 1) {
		*at++ = '.';
		at = mempcpy(at, digits + 1, count - 1);
	}
	return at + sprintf(at, "e%+03d", point - 1);
}

void kymo_float_text(double number, bool is_part, char text[KYMO_FLOAT_TEXT_BYTES])
{
	char digits[20], *at = text;
	size_t count;
	int point;

	if (isnan(number)) {
		strcpy(text, "nan");
		return;
	}
	if (signbit(number))
		*at++ = '-';
	number = fabs(number);
	if (isinf(number)) {
		strcpy(at, "inf");
		return;
	}
	if (number == 0) {
		strcpy(at, is_part ? "0" : "0.0");
		return;
	}
	count = shortest_digits(number, digits, &point);
	at = point > -4 && point <= 16 ? put_fixed(at, digits, count, point, is_part) : put_exponent(at, digits, count, point);
	*at = '\0';
}

void kymo_long_text(const uint8_t *magnitude, uint32_t bytes, bool is_negative, char text[KYMO_LONG_TEXT_BYTES])
{
	uint32_t limbs[KYMO_LONG_TEXT_BYTES / 9] = {0}; /* of nine digits, the least one first */
	size_t count = 1;

	/* Four bytes at a time, the most significant ones first. */
	for (uint32_t word = (bytes + 3) / 4; word--;) {
		uint64_t carry = 0;

		for (uint32_t i = 4 * word; i < bytes && i < 4 * word + 4; i++)
			carry |= (uint64_t)magnitude[i] << 8 * (i - 4 * word);
		for (size_t n = 0; n < count; n++) {
			carry += (uint64_t)limbs[n] << 32;
			limbs[n] = (uint32_t)(carry % LIMB);
			carry /= LIMB;
		}
		for (; carry; carry /= LIMB)
			limbs[count++] = (uint32_t)(carry % LIMB);
	}
	if (is_negative)
		*text++ = '-';
	text += sprintf(text, "%u", limbs[--count]);
	while (count)
		text += sprintf(text, "%09u", limbs[--count]);
}
