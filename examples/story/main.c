/* SPDX-License-Identifier: MIT */
/* Tells a story: a language model of 260 thousand weights says which token is the most likely next one, again and again.
 *
 *     story tok512.bin [TOKENS]
 *
 * The network has no memory: it is given all tokens so far, and those behind them, which it does not look at, are 0. */
#include <stdio.h>
#include <stdlib.h>

#include "net.h"
#include "vocabulary.h"

enum { MOST = NET_INPUT_IDS_ELEMS, TOKENS = NET_LOGITS_ELEMS / MOST, BEGIN = 1, END = 2 };

static int likeliest(const float logits[TOKENS])
{
        int best = 0;
        for (int k = 1; k < TOKENS; k++)
                if (logits[k] > logits[best])
                        best = k;
        return best;
}

/* Tells all tokens up to `most`, as they come; returns 0, or what the network returned. */
static int tell(const struct vocabulary *v, int most, float *logits)
{
        NET_WORKSPACE_DEFINE(workspace);
        int64_t tokens[MOST] = { BEGIN };
        int error = 0;
        for (int count = 1; count < most; count++) {
                if ((error = net_run(workspace, tokens, logits)))
                        break;
                int next = likeliest(logits + (size_t)(count - 1) * TOKENS);
                if (next == BEGIN || next == END)
                        break;
                vocabulary_print(v, next, count == 1);
                tokens[count] = next;
        }
        putchar('\n');
        return error;
}

int main(int count, char **arguments)
{
        static struct vocabulary v;
        long most = count > 2 ? strtol(arguments[2], NULL, 10) : MOST;
        if (count < 2 || count > 3 || most < 1 || most > MOST) {
                fprintf(stderr, "usage: story VOCABULARY [TOKENS]        as in llama2.c (tok512.bin); at most %d tokens\n", MOST);
                return 1;
        }
        const char *error = vocabulary_read(&v, arguments[1], TOKENS);
        float *logits = malloc(NET_LOGITS_ELEMS * sizeof *logits);
        if (!error && !logits)
                error = "not enough memory";
        if (error)
                fprintf(stderr, "story: %s: %s\n", arguments[1], error);
        else if (tell(&v, (int)most, logits))
                fprintf(stderr, "story: %s\n", error = "the network does not run");
        free(logits);
        free(v.bytes);
        return error ? 2 : 0;
}
