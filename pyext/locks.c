// SPDX-License-Identifier: Apache-2.0
#include "pyext/locks.h"

#include <pthread.h>

static pthread_mutex_t locks[] = {
	[KYMO_LOCK_PYTHONS] = PTHREAD_MUTEX_INITIALIZER,  [KYMO_LOCK_RECORDING] = PTHREAD_MUTEX_INITIALIZER,
	[KYMO_LOCK_FILTER] = PTHREAD_MUTEX_INITIALIZER,	  [KYMO_LOCK_CONTENTS] = PTHREAD_MUTEX_INITIALIZER,
	[KYMO_LOCK_STRINGS] = PTHREAD_MUTEX_INITIALIZER,
};
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Threads under other GILs may hold some while this one forks. */
static void take_all(void)
{
	for (int i = 0; i < KYMO_LOCKS; i++)
		pthread_mutex_lock(&locks[i]);
}

static void give_all(void)
{
	for (int i = KYMO_LOCKS; i-- > 0;)
		pthread_mutex_unlock(&locks[i]);
}

static void watch_forks(void)
{
	pthread_atfork(take_all, give_all, give_all);
}

void kymo_lock(enum kymo_lock lock)
{
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&locks[lock]);
}

void kymo_unlock(enum kymo_lock lock)
{
	pthread_mutex_unlock(&locks[lock]);
}
