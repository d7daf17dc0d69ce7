// SPDX-License-Identifier: Apache-2.0
/*
 * Whether a process lives, and how it ended.
 *
 * By pidfd if the kernel permits it, else by pid and start time.  Nothing here waits, and
 * neither the process nor its parent can notice it.
 */
#ifndef KYMO_READER_LIVENESS_H
#define KYMO_READER_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct kymo_life {
	pid_t pid;
	uint64_t start_ticks; /* field 22 of /proc/<pid>/stat */
	int pid_fd;           /* -1: none */
	bool is_over;
};

/* Start time of process @pid, or 0 if there is no such process. */
uint64_t kymo_life_start_ticks(pid_t pid);

/* Its parent's process id, or 0. */
pid_t kymo_life_parent(pid_t pid);

/* Its process id in the innermost namespace that it is in, as it sees itself, or 0. */
pid_t kymo_life_inner_pid(pid_t pid);

/* Our process id of the process that is @inner_pid in the pid namespace with that inode; 0: it cannot be seen from here. */
pid_t kymo_life_find(pid_t inner_pid, uint64_t pid_namespace);

/* True while process @pid runs; a zombie does not. */
bool kymo_life_runs(pid_t pid);

/* Watch process @pid, which started at @start_ticks.  It may be over already. */
void kymo_life_watch(struct kymo_life *life, pid_t pid, uint64_t start_ticks);
void kymo_life_unwatch(struct kymo_life *life);

/* True as soon as none of its threads runs any more. */
bool kymo_life_is_over(struct kymo_life *life);

/*
 * True if nobody but us has the file of @fd open or mapped for writing, false if that cannot be known.  If a process keeps a
 * mapping of the file as long as it lives, true means that it is over, whatever its namespace.
 */
bool kymo_life_has_left(int fd);

/* How a process that is over ended, as waitpid would return it.  False: not known, or not yet. */
bool kymo_life_status(const struct kymo_life *life, int *wait_status);

#endif
