/* SPDX-License-Identifier: MIT */
/* Reads handwritten digits on an accelerator, VTA: convolutions run there, the rest here. The
 * machine is the simulator of libdnncc_vta; on a board its five functions are your own (README.md).
 *
 *     vta                  all samples of ../digits */
#include <stdio.h>

#include "../digits/samples.h"
#include "dnncc_vta.h"
#include "net.h"

enum { COUNT = sizeof samples / sizeof *samples, MEMORY = 1 << 20 };

struct network { struct dnncc_vta *device; void *workspace, *program; };

/* Makes what the network needs, where the machine sees it; returns its code for what is wrong. */
static int begin(struct network *n)
{
        n->device = dnncc_vta_new(NULL, MEMORY);
        if (!n->device)
                return NET_ERROR_LOST;
        n->workspace = dnncc_vta_memory(n->device, NET_WORKSPACE_SIZE);
        n->program = dnncc_vta_memory(n->device, NET_PROGRAM_SIZE);
        return net_prepare(n->workspace, n->program, n->device);
}

static int classify(struct network *n, const unsigned char pixels[64], int *digit)
{
        static float image[NET_IMAGE_ELEMS], p[NET_PROBABILITIES_ELEMS];
        unsigned best = 0;
        for (unsigned i = 0; i < NET_IMAGE_ELEMS; i++)
                image[i] = (float)pixels[i] / 16;
        int code = net_run(n->workspace, n->program, image, p, n->device);
        for (unsigned k = 1; k < NET_PROBABILITIES_ELEMS; k++)
                best = p[k] > p[best] ? k : best;
        *digit = (int)best;
        return code;
}

int main(void)
{
        struct network n;
        int right = 0, digit, code = begin(&n);
        for (int i = 0; i < COUNT && !code; i++) {
                code = classify(&n, samples[i].pixels, &digit);
                right += !code && digit == samples[i].digit;
        }
        if (code) {
                fprintf(stderr, "vta: code %d, see net.h%s%s\n", code, n.device ? ": " : "", n.device ? dnncc_vta_message(n.device) : "");
        } else {
                printf("%d of %d digits are right\n", right, (int)COUNT);
                printf("%llu cycles a digit; program %u bytes, workspace %u\n", dnncc_vta_cycles(n.device) / COUNT, NET_PROGRAM_SIZE, NET_WORKSPACE_SIZE);
        }
        dnncc_vta_free(n.device);
        return code ? 2 : right < COUNT * 9 / 10;
}
