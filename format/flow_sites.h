// SPDX-License-Identifier: Apache-2.0
/*
 * Which places of a code object are recorded, so that between two of them there is one way.
 */
#ifndef KYMO_FORMAT_FLOW_SITES_H
#define KYMO_FORMAT_FLOW_SITES_H

#include "format/flow.h"

/*
 * Choose and number the sites of @flow, whose instructions and handlers are known and well-formed; @flow is not
 * exact any more where no choice would do.  0 or -ENOMEM.  Takes time in proportion to the length.
 */
int kymo_flow_choose_sites(struct kymo_flow *flow);

#endif
