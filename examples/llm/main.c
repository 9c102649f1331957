/* SPDX-License-Identifier: MIT */
/* Goes on with a text: a language model whose keys and values stay in a struct of the caller's, so that each token costs one place.
 *
 *     llm VOCABULARY [TEXT [TEMPERATURE [SEED]]]       tok512.bin, or what dnncc --info=tokens writes of a GGUF file
 *
 * The text goes through the network in pieces of up to 64 tokens, then each token by itself. At temperature 0 the likeliest token is
 * taken; above, any one as often as the network says, the likely ones the more the lower it is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "net.h"
#include "vocabulary.h"

enum { PIECE = NET_PROMPT_INPUT_IDS_ELEMS, TOKENS = NET_STEP_LOGITS_ELEMS, MOST = 512,
       ROWS = NET_PROMPT_LOGITS_ELEMS / TOKENS };       /* It is 1 where a prompt gives the last token's logits alone. */

NET_WORKSPACE_DEFINE(workspace);
NET_STATE_DEFINE(state);
static float logits[NET_PROMPT_LOGITS_ELEMS];

/* Gives the network tokens; returns the logits of what comes behind the last of them, or NULL. */
static float *give(const int *tokens, int count)
{
        int64_t ids[PIECE];
        int n = 0;
        for (int at = 0; at < count; at += n) {
                for (n = 0; n < PIECE && at + n < count; n++)
                        ids[n] = tokens[at + n];
                if (n == 1 ? net_step_run(workspace, &state, ids, logits) : net_prompt_run(workspace, &state, ids, n, logits))
                        return NULL;
        }
        return logits + (size_t)(ROWS > 1 ? n - 1 : 0) * TOKENS;
}

/* Returns a number in [0, 1) (xorshift64*). */
static double drawn(unsigned long long *seed)
{
        *seed ^= *seed >> 12;
        *seed ^= *seed << 25;
        *seed ^= *seed >> 27;
        return (double)(*seed * 0x2545f4914f6cdd1dULL >> 11) / 9007199254740992.0;
}

/* Chooses a token, as likely as exp(logit / temperature) says. */
static int choose(const float *x, double temperature, unsigned long long *seed)
{
        int best = 0;
        double sum = 0;
        for (int k = 1; k < TOKENS; k++)
                best = x[k] > x[best] ? k : best;
        if (temperature <= 0)
                return best;
        for (int k = 0; k < TOKENS; k++)
                sum += exp((x[k] - x[best]) / temperature);
        double left = drawn(seed) * sum;
        for (int k = 0; k < TOKENS; k++)
                if ((left -= exp((x[k] - x[best]) / temperature)) < 0)
                        return k;
        return best;
}

/* Prints tokens until one ends the text, or the memory is full; returns what is wrong, or NULL. */
static const char *go_on(const struct vocabulary *v, int *tokens, int count, double temperature, unsigned long long seed)
{
        const int text = count && *tokens == v->begin;
        int first = count == text;
        for (int k = text; k < count; k++)
                vocabulary_print(v, tokens[k], k == text);
        float *next = give(tokens, count);
        while (next) {
                int token = choose(next, temperature, &seed);
                if (token == v->begin || token == v->end || state.P >= MOST - PIECE)
                        break;
                vocabulary_print(v, token, first);
                first = 0;
                next = give(&token, 1);
        }
        putchar('\n');
        return next ? NULL : "the network does not run";
}

int main(int count, char **arguments)
{
        static struct vocabulary v;
        int tokens[MOST - PIECE];
        if (count < 2 || count > 5) {
                fprintf(stderr, "usage: llm VOCABULARY [TEXT [TEMPERATURE [SEED]]]       as in llama2.c (tok512.bin), or of dnncc --info=tokens\n");
                return 1;
        }
        const char *error = vocabulary_read(&v, arguments[1], TOKENS);
        int begins = !error && v.begin >= 0, given = !error && count > 2 ? vocabulary_encode(&v, arguments[2], MOST - PIECE - 1, tokens + begins) : 0;
        if (begins)
                tokens[0] = v.begin;
        if (given < 0)
                error = "the text is too long, or has bytes without a token";
        else if (!error && given + begins == 0)
                error = "it says no token that a text begins with, so give it a text";
        if (!error)
                error = go_on(&v, tokens, given + begins, count > 3 ? atof(arguments[3]) : 0, count > 4 ? strtoull(arguments[4], NULL, 10) | 1 : 1);
        if (error)
                fprintf(stderr, "llm: %s: %s\n", arguments[1], error);
        free(v.bytes);
        return error ? 2 : 0;
}
