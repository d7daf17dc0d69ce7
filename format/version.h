// SPDX-License-Identifier: Apache-2.0
#ifndef KYMO_FORMAT_VERSION_H
#define KYMO_FORMAT_VERSION_H

#define KYMO_VERSION "0.1.0"

#endif
