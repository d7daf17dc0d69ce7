// SPDX-License-Identifier: Apache-2.0
/*
 * Every atomic access of the project.  memory_order_ appears in this file only.
 *
 * Release: what the thread wrote before is visible to whoever acquires the value.
 * Acquire: what is read after is at least as new as the value's release.
 * Each use elsewhere names its partner, (P1) with (C1) and so on; docs/memory-model.md
 * has the table.  A relaxed use says why relaxed is enough.
 */
#ifndef KYMO_FORMAT_ATOMICS_H
#define KYMO_FORMAT_ATOMICS_H

#include <stdatomic.h>
#include <stdint.h>

static inline uint64_t kymo_load_acquire_u64(const _Atomic uint64_t *p)
{
	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)p, memory_order_acquire);
}

static inline uint32_t kymo_load_acquire_u32(const _Atomic uint32_t *p)
{
	return atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)p, memory_order_acquire);
}

static inline uint64_t kymo_load_relaxed_u64(const _Atomic uint64_t *p)
{
	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)p, memory_order_relaxed);
}

static inline uint32_t kymo_load_relaxed_u32(const _Atomic uint32_t *p)
{
	return atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)p, memory_order_relaxed);
}

static inline void kymo_store_release_u64(_Atomic uint64_t *p, uint64_t value)
{
	atomic_store_explicit(p, value, memory_order_release);
}

static inline void kymo_store_release_u32(_Atomic uint32_t *p, uint32_t value)
{
	atomic_store_explicit(p, value, memory_order_release);
}

static inline void kymo_store_relaxed_u64(_Atomic uint64_t *p, uint64_t value)
{
	atomic_store_explicit(p, value, memory_order_relaxed);
}

static inline void kymo_store_relaxed_u32(_Atomic uint32_t *p, uint32_t value)
{
	atomic_store_explicit(p, value, memory_order_relaxed);
}

/* Read-modify-write: cold paths only.  Both return the value before. */
static inline uint64_t kymo_add_u64(_Atomic uint64_t *p, uint64_t value)
{
	return atomic_fetch_add_explicit(p, value, memory_order_relaxed);
}

static inline uint32_t kymo_add_u32(_Atomic uint32_t *p, uint32_t value)
{
	return atomic_fetch_add_explicit(p, value, memory_order_relaxed);
}

/* Compare-and-swap from @before to @after.  False if the value was something else. */
static inline int kymo_change_u32(_Atomic uint32_t *p, uint32_t before, uint32_t after)
{
	return atomic_compare_exchange_strong_explicit(p, &before, after, memory_order_relaxed, memory_order_relaxed);
}

static inline void kymo_fence_acquire(void)
{
	atomic_thread_fence(memory_order_acquire);
}

static inline void kymo_fence_release(void)
{
	atomic_thread_fence(memory_order_release);
}

static inline void kymo_fence_seq_cst(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}

#endif
