// SPDX-License-Identifier: Apache-2.0
/* SIGTERM to the reader: a request to end, followed when no producer lives. */
#ifndef KYMO_READER_TERMINATE_H
#define KYMO_READER_TERMINATE_H

#include <stdbool.h>

/* The handler of the signal. */
void kymo_terminate(int signal_number);
bool kymo_terminate_wanted(void);

#endif
