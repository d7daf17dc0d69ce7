// SPDX-License-Identifier: Apache-2.0
#include "replay/debugger/dap_wire.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "replay/trace/trace.h"

#define MAX_HEADER 4096U
#define READ_BYTES 65536U

void kymo_dap_wire_release(struct kymo_dap_wire *wire)
{
	free(wire->bytes);
	wire->bytes = NULL;
	wire->at = wire->count = wire->capacity = 0;
}

/* An editor may have given its end of the pipe as one that does not wait. */
static bool has_to_wait(int fd, short events)
{
	struct pollfd ready = {.fd = fd, .events = events};

	if (errno == EAGAIN)
		poll(&ready, 1, -1);
	return errno == EAGAIN || errno == EINTR;
}

/* Read what has come, at least a byte.  1; 0: there is no more. */
static int read_more(struct kymo_dap_wire *wire, struct kymo_error *error)
{
	ssize_t got;

	if (wire->at) {
		memmove(wire->bytes, wire->bytes + wire->at, wire->count - wire->at);
		wire->count -= wire->at;
		wire->at = 0;
	}
	if (kymo_grow(&wire->bytes, &wire->capacity, wire->count + READ_BYTES, 1))
		return kymo_fail(error, -ENOMEM, "out of memory");
	do {
		got = read(wire->in, wire->bytes + wire->count, READ_BYTES);
	} while (got < 0 && has_to_wait(wire->in, POLLIN));
	if (got < 0)
		return kymo_fail(error, -errno, "cannot read from the client: %s", strerror(errno));
	wire->count += (size_t)got;
	return got > 0;
}

/* The length of the message behind the @bytes of its header. */
static int parse_header(const char *at, size_t bytes, size_t *length, struct kymo_error *error)
{
	static const char name[] = "Content-Length:";
	const char *end = at + bytes;
	bool has_length = false;

	while (at < end) {
		const char *line_end = memmem(at, (size_t)(end - at), "\r\n", 2);
		const char *value = at + sizeof(name) - 1;

		if ((size_t)(line_end - at) > sizeof(name) - 1 && !strncasecmp(at, name, sizeof(name) - 1)) {
			char *value_end;

			value += strspn(value, " \t");
			errno = 0;
			*length = strtoull(value, &value_end, 10);
			if (*value < '0' || *value > '9' || value_end != line_end)
				return kymo_fail(error, -EPROTO, "malformed DAP header: Content-Length is not a number");
			if (errno || *length > KYMO_DAP_MAX_MESSAGE)
				return kymo_fail(error, -EPROTO, "the client sent a message of more than %u bytes",
						 KYMO_DAP_MAX_MESSAGE);
			has_length = true;
		}
		at = line_end + 2;
	}
	return has_length ? 0 : kymo_fail(error, -EPROTO, "the client sent a header without Content-Length");
}

/* 1: the message of @length bytes is at wire->at; 0: the other side has closed. */
static int read_frame(struct kymo_dap_wire *wire, size_t *length, struct kymo_error *error)
{
	const char *header, *end;
	int result;

	for (;;) {
		size_t bytes = wire->count - wire->at;

		header = wire->bytes + wire->at;
		end = bytes ? memmem(header, bytes, "\r\n\r\n", 4) : NULL;
		if (end || bytes > MAX_HEADER)
			break;
		result = read_more(wire, error);
		if (result < 0 || (!result && !bytes))
			return result;
		if (!result)
			return kymo_fail(error, -EPROTO, "the client stopped in the middle of a header");
	}
	if (!end)
		return kymo_fail(error, -EPROTO, "malformed DAP header");
	result = parse_header(header, (size_t)(end + 2 - header), length, error);
	wire->at += (size_t)(end + 4 - header);
	while (!result && wire->count - wire->at < *length) {
		result = read_more(wire, error);
		if (!result)
			return kymo_fail(error, -EPROTO, "the client stopped in the middle of a message");
		result = result < 0 ? result : 0;
	}
	return result ? result : 1;
}

int kymo_dap_read(struct kymo_dap_wire *wire, json_t **message, struct kymo_error *error)
{
	json_error_t why;
	size_t length = 0;
	int result = read_frame(wire, &length, error);

	if (result <= 0)
		return result;
	*message = json_loadb(wire->bytes + wire->at, length, JSON_ALLOW_NUL, &why);
	wire->at += length;
	if (!*message)
		return kymo_fail(error, -EBADMSG, "malformed DAP message: %s, at byte %d", why.text,
				 why.position);
	if (json_is_object(*message))
		return 1;
	json_decref(*message);
	return kymo_fail(error, -EBADMSG, "malformed DAP message: it is not a JSON object");
}

static int write_all(int fd, const char *bytes, size_t count, struct kymo_error *error)
{
	while (count) {
		ssize_t put = write(fd, bytes, count);

		if (put < 0 && has_to_wait(fd, POLLOUT))
			continue;
		if (put < 0)
			return kymo_fail(error, -errno, "cannot write to the client: %s", strerror(errno));
		bytes += put;
		count -= (size_t)put;
	}
	return 0;
}

int kymo_dap_write(struct kymo_dap_wire *wire, const json_t *message, struct kymo_error *error)
{
	char *body = json_dumps(message, JSON_COMPACT), *frame = NULL;
	int length = body ? asprintf(&frame, "Content-Length: %zu\r\n\r\n%s", strlen(body), body) : -1;
	int result;

	free(body);
	if (length < 0)
		return kymo_fail(error, -ENOMEM, "out of memory");
	result = write_all(wire->out, frame, (size_t)length, error);
	free(frame);
	return result;
}
