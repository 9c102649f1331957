/* SPDX-License-Identifier: MIT */
/* A machine as the xDNN overlays are that the XFDNN compiler writes commands for: an array that takes 96 channels at once, engines for
 * windows, for sums of two volumes and for transfers beside it, and activations in memory of its own. */
#include "codegen/sections/sections.h"

const struct section_machine machine_sections = {
        .name = "sections",
        .activation_bytes = INT64_C(8) << 20,
        .number_bytes = 2,
        .channels = 96, .unit_channels = 8,
        .pool_rows = 3,
        .extent = 65535,
};
