// SPDX-License-Identifier: Apache-2.0
/* Where the clients of the debug adapter come from. */
#include "replay/debugger/dap.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "replay/debugger/dap_session.h"

static int listen_at(const struct addrinfo *address)
{
	int fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, address->ai_protocol);
	int yes = 1;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(fd, address->ai_addr, address->ai_addrlen) || listen(fd, 4)) {
		int result = -errno;

		close(fd);
		return result;
	}
	return fd;
}

/* Listen, and say where.  Returns the socket. */
static int open_port(const struct kymo_dap_options *options, struct kymo_error *error)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *addresses;
	struct sockaddr_storage bound;
	socklen_t length = sizeof(bound);
	char host[NI_MAXHOST], port[NI_MAXSERV];
	int fd = -EADDRNOTAVAIL, status = getaddrinfo(options->host, options->port, &hints, &addresses);

	if (status)
		return kymo_fail(error, -EINVAL, "cannot listen at '%s': %s", options->host, gai_strerror(status));
	for (const struct addrinfo *address = addresses; address && fd < 0; address = address->ai_next)
		fd = listen_at(address);
	freeaddrinfo(addresses);
	if (fd < 0)
		return kymo_fail(error, fd, "cannot listen at port %s of %s: %s", options->port, options->host,
				 strerror(-fd));
	if (getsockname(fd, (struct sockaddr *)&bound, &length) ||
	    getnameinfo((struct sockaddr *)&bound, length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV)) {
		close(fd);
		return kymo_fail(error, -EIO, "cannot tell which port it listens at");
	}
	fprintf(stderr, bound.ss_family == AF_INET6 ? "listening on [%s]:%s\n" : "listening on %s:%s\n", host, port);
	return fd;
}

static bool is_of_the_client(int status)
{
	return status == ECONNABORTED || status == EINTR || status == EPROTO;
}

/* One client after the other; what one of them does wrong is not the next one's business. */
static int serve_port(const struct kymo_dap_options *options, struct kymo_error *error)
{
	int listener = open_port(options, error), result = 0;

	if (listener < 0)
		return listener;
	do {
		int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (client < 0 && is_of_the_client(errno))
			continue;
		if (client < 0) {
			result = kymo_fail(error, -errno, "cannot wait for clients: %s", strerror(errno));
			break;
		}
		result = kymo_dap_session(options, client, client, error);
		close(client);
		if (result && !options->serves_one) {
			kymo_dap_warn(error);
			result = 0;
		}
	} while (!options->serves_one);
	close(listener);
	return result;
}

int kymo_dap_serve(const struct kymo_dap_options *options, struct kymo_error *error)
{
	signal(SIGPIPE, SIG_IGN);
	return options->port ? serve_port(options, error)
			     : kymo_dap_session(options, STDIN_FILENO, STDOUT_FILENO, error);
}
