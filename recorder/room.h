// SPDX-License-Identifier: Apache-2.0
/* How much memory a session may take, and where. */
#ifndef KYMO_RECORDER_ROOM_H
#define KYMO_RECORDER_ROOM_H

#include <stdint.h>

/* Bytes that every rule allows for a session in @dir: 256 MB, half of the file system's
 * free space, an eighth of the control group's memory limit, whichever is smallest. */
uint64_t kymo_room_budget(const char *dir);

/* The best counter on this machine: enum kymo_counter. */
uint32_t kymo_room_counter(void);

#endif
