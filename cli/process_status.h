// SPDX-License-Identifier: Apache-2.0
#ifndef KYMO_CLI_PROCESS_STATUS_H
#define KYMO_CLI_PROCESS_STATUS_H

#include <sys/types.h>

/* The number behind @field, such as "PPid:", in /proc/@pid/status; 0: not known. */
pid_t kymo_process_number(pid_t pid, const char *field);

#endif
