// SPDX-License-Identifier: Apache-2.0
/*
 * The calls that the recorder waits, allocates and reads the time with, as a test wants
 * them.  They are defined in the test program, so that the recorder is linked with these
 * instead of the C library's; untouched, they do what they always do.
 */
#ifndef KYMO_TESTS_FAKE_CALLS_H
#define KYMO_TESTS_FAKE_CALLS_H

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* CLOCK_MONOTONIC in nanoseconds; 0: the real one. */
static uint64_t fake_now;

/* What happens in a FUTEX_WAIT; then it returns, and by the fake clock its time-out is over. */
static void (*on_futex_wait)(void);
static unsigned futex_waits, futex_wakes;

/* The error that the next posix_fallocate() returns; 0: none. */
static int allocation_error;
static unsigned allocations;

static unsigned files_opened;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*real)(clockid_t, struct timespec *);

	if (clock == CLOCK_MONOTONIC && fake_now) {
		now->tv_sec = (time_t)(fake_now / 1000000000U);
		now->tv_nsec = (long)(fake_now % 1000000000U);
		return 0;
	}
	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	return real(clock, now);
}

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long args[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_futex && (int)args[1] == FUTEX_WAKE)
		futex_wakes++;
	if (number == SYS_futex && (int)args[1] == FUTEX_WAIT)
		futex_waits++;
	if (number == SYS_futex && (int)args[1] == FUTEX_WAIT && on_futex_wait) {
		if (fake_now)
			fake_now += (uint64_t)((const struct timespec *)args[3])->tv_nsec;
		on_futex_wait();
		return 0;
	}
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

int open(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
	va_end(list);
	files_opened++;
	return real(path, flags, mode);
}

int posix_fallocate(int fd, off_t offset, off_t bytes)
{
	int (*real)(int, off_t, off_t) = (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
	int error = allocation_error;

	allocations++;
	allocation_error = 0;
	return error ? error : real(fd, offset, bytes);
}

#endif
