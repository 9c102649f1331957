/* Neoverse V1 (2020): Graviton 3. Its guide (Arm Neoverse V1 Software Optimization Guide) has the
 * rates of the Cortex-X1, whose core it is, for the same tables. */
#include "ir/target.h"

extern const struct target target_cortex_x1, target_neoverse_v1;

const struct target target_neoverse_v1 = {
        .name = "neoverse-v1",
        .doc = "what cortex-x1 has, for servers",
        .base = &target_cortex_x1,
        .processors = (const struct processor[]){
                { "0x41", 8, 0xd40, 0xd40 },
                { 0 }
        },
};
