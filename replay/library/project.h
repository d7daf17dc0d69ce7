/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-replay: which code is the project's own: not the standard library's, not installed, not a script next to an interpreter,
 * and in a file. By default only this code is shown, and coverage is reported for it.
 *
 * A struct kymo_project_files belongs to one thread at a time.
 */
#ifndef KYMO_PROJECT_H
#define KYMO_PROJECT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef KYMO_PROJECT_API
#define KYMO_PROJECT_API
#endif

struct kymo_project_files;

/*
 * Uses the places of the interpreters of the trace @path; NULL: only what is learned. 0, or a negative errno with what is wrong in
 * @error.
 */
KYMO_PROJECT_API int kymo_project_open(const char *path, struct kymo_project_files **project, char *error, size_t error_bytes);
KYMO_PROJECT_API void kymo_project_close(struct kymo_project_files *project);

/* Learn where an interpreter is from the name of a file that was recorded. */
KYMO_PROJECT_API void kymo_project_saw(struct kymo_project_files *project, const char *file);

/* 1: code of @file, as co_filename has it, is the project's; else 0. */
KYMO_PROJECT_API int kymo_project_owns(const struct kymo_project_files *project, const char *file);

/* 1: no code of the opened trace is the project's. */
KYMO_PROJECT_API int kymo_project_is_absent(const struct kymo_project_files *project);

/* 1: the glob @pattern matches @file: without a slash, the last part; else the whole path, or a trailing part of it. */
KYMO_PROJECT_API int kymo_project_is_like(const char *file, const char *pattern);

#ifdef __cplusplus
}
#endif

#endif
