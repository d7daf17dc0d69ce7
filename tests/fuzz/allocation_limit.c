// SPDX-License-Identifier: Apache-2.0
/*
 * Under AddressSanitizer a target fails where it asks for more memory at once than any limit of
 * the format allows: no length is granted because the machine happens to have so much.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "max_allocation_size_mb=128"; /* the largest payload is 64 MiB */
}
