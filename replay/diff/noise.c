// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/noise.h"

#include <stdio.h>
#include <string.h>

void kymo_owner_of(struct kymo_owner *owner, const struct kymo_timeline *timeline, const struct kymo_stream *stream,
		   const char *const *ignored)
{
	/* A time that was read just before, and one of a file that was. */
	const int64_t slack_ns = 5000000000;
	const struct kymo_definitions *definitions = &timeline->definitions;
	const Kymo__Session *session = definitions->session;
	const struct kymo_clock_sample *clocks = definitions->clocks;

	*owner = (struct kymo_owner){.timeline = timeline, .stream = stream, .ignored = ignored,
				     .folder = session && session->working_directory && session->working_directory[0] &&
							       session->working_directory[1]
						       ? session->working_directory
						       : ""};
	if (!definitions->clock_count)
		return;
	owner->unix_ns[0] = (int64_t)clocks[0].unix_ns - slack_ns;
	owner->unix_ns[1] = (int64_t)clocks[definitions->clock_count - 1].unix_ns + slack_ns;
	owner->monotonic_ns[0] = (int64_t)clocks[0].monotonic_ns - slack_ns;
	owner->monotonic_ns[1] = (int64_t)clocks[definitions->clock_count - 1].monotonic_ns + slack_ns;
}

static bool is_in(const int64_t period[2], double ns)
{
	return period[1] > 0 && ns >= (double)period[0] && ns <= (double)period[1];
}

static enum kymo_noise noise_of_float(const struct kymo_owner *owner, double value)
{
	return is_in(owner->unix_ns, value * 1e9) || is_in(owner->unix_ns, value * 1e6) || is_in(owner->monotonic_ns, value * 1e9)
		       ? KYMO_NOISE_TIME
		       : KYMO_NO_NOISE;
}

/* Of the process, its parent, or a thread; or what id() says, by how large it is. */
static bool is_id(const struct kymo_traced_process *process, uint64_t value)
{
	if (value >> 44 && !(value >> 47) && !(value & 7))
		return true;
	if (value < 2 || !process || !process->definition)
		return false;
	for (size_t i = 0; i < process->thread_count && i < 64; i++)
		if (value == process->threads[i].native_id)
			return true;
	return value == process->pid || value == process->definition->parent_pid;
}

static enum kymo_noise noise_of_int(const struct kymo_owner *owner, int64_t value)
{
	double number = (double)value;

	if (is_in(owner->unix_ns, number) || is_in(owner->unix_ns, number * 1e3) || is_in(owner->unix_ns, number * 1e6) ||
	    is_in(owner->unix_ns, number * 1e9) || is_in(owner->monotonic_ns, number))
		return KYMO_NOISE_TIME;
	return value > 1 && is_id(owner->stream ? owner->stream->process : NULL, (uint64_t)value) ? KYMO_NOISE_ID : KYMO_NO_NOISE;
}

/* "2026-11-22 22:59:09", of whatever time zone, lies in the run. */
static enum kymo_noise noise_of_text(const struct kymo_owner *owner, const struct kymo_value *value)
{
	const int64_t quarter_ns = 900000000000;
	char text[20];
	int year, month, day, hour, minute, second;
	int64_t days, ns;

	if (value->text_bytes < 19)
		return KYMO_NO_NOISE;
	memcpy(text, value->text, 19);
	text[19] = '\0';
	if (sscanf(text, "%4d-%2d-%2d%*1[ T]%2d:%2d:%2d", &year, &month, &day, &hour, &minute, &second) != 6 || month < 1)
		return KYMO_NO_NOISE;
	/* Days since 1970: March is the first month. */
	year -= month < 3;
	days = 365 * (int64_t)year + year / 4 - year / 100 + year / 400 + (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 719469;
	ns = (days * 86400 + hour * 3600 + minute * 60 + second) * 1000000000;
	for (int64_t zone = -56; zone <= 56; zone++)
		if (is_in(owner->unix_ns, (double)(ns - zone * quarter_ns)))
			return KYMO_NOISE_TIME;
	return KYMO_NO_NOISE;
}

enum kymo_noise kymo_noise_of(const struct kymo_owner *owner, const struct kymo_value *value)
{
	if (value->kind == KYMO_VALUE_FLOAT)
		return noise_of_float(owner, value->real);
	if (value->kind == KYMO_VALUE_INT)
		return noise_of_int(owner, value->number);
	return value->kind == KYMO_VALUE_TEXT || (value->kind == KYMO_VALUE_STR && value->text_bytes <= 40) ? noise_of_text(owner, value)
													     : KYMO_NO_NOISE;
}

static bool is_hex(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_temporary(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_';
}

static size_t run_of(bool (*is)(uint8_t), const uint8_t *text, size_t bytes)
{
	size_t count = 0;

	while (count < bytes && is(text[count]))
		count++;
	return count;
}

/* So many bytes at @text are no part of what it says; @keep of them at the beginning are. */
static size_t noise_at(const struct kymo_owner *owner, const uint8_t *text, size_t bytes, size_t *keep)
{
	static const char pytest[] = "/pytest-";
	size_t folder = strlen(owner->folder), run;

	*keep = 0;
	if (text[0] == '0' && bytes > 8 && text[1] == 'x') {
		run = run_of(is_hex, text + 2, bytes - 2);
		*keep = 2;
		return run >= 7 ? run + 2 : 0;
	}
	if (text[0] != '/')
		return 0;
	/* As tempfile makes them. */
	if (bytes > 11 && !memcmp(text, "/tmp", 4)) {
		run = run_of(is_temporary, text + 4, bytes - 4);
		*keep = 4;
		if (run == 8)
			return 12;
	}
	if (bytes > sizeof pytest && !memcmp(text, pytest, sizeof pytest - 1)) {
		*keep = sizeof pytest - 1;
		run = *keep;
		while (run < bytes && text[run] >= '0' && text[run] <= '9')
			run++;
		return run > *keep ? run : 0;
	}
	*keep = 0;
	return folder && bytes >= folder && !memcmp(text, owner->folder, folder) && (bytes == folder || text[folder] == '/') ? folder : 0;
}

uint64_t kymo_noise_hash(const struct kymo_owner *owner, const struct kymo_value *value, bool *has_noise)
{
	uint64_t hash = kymo_mix(21, 0);
	const uint8_t *text = value->text;
	size_t from = 0, bytes = value->text_bytes, keep;

	*has_noise = false;
	if (!text || (!memchr(text, '/', bytes) && !memchr(text, 'x', bytes)))
		return text ? kymo_hash_bytes(hash, text, bytes) : hash;
	for (size_t i = 0; i < bytes; i++) {
		size_t noise = text[i] == '/' || text[i] == '0' ? noise_at(owner, text + i, bytes - i, &keep) : 0;

		if (!noise)
			continue;
		*has_noise = true;
		hash = kymo_hash_bytes(hash, text + from, i + keep - from);
		from = i + noise;
		i = from - 1;
	}
	return kymo_hash_bytes(hash, text + from, bytes - from);
}
