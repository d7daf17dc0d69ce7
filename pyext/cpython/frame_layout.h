// SPDX-License-Identifier: Apache-2.0
/* How this CPython's frames lie in memory. */
#ifndef KYMO_PYEXT_CPYTHON_FRAME_LAYOUT_H
#define KYMO_PYEXT_CPYTHON_FRAME_LAYOUT_H

#include "format/chunk.h"

extern const struct kymo_frame_layout kymo_frame_layout;

#endif
