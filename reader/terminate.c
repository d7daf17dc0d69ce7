// SPDX-License-Identifier: Apache-2.0
#include "reader/terminate.h"

#include <signal.h>

static volatile sig_atomic_t terminate;

void kymo_terminate(int signal_number)
{
	(void)signal_number;
	terminate = 1;
}

bool kymo_terminate_wanted(void)
{
	return terminate;
}
