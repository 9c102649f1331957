/* SPDX-License-Identifier: MIT */
/* Tells a story: a language model of 260 thousand weights says which token is the most likely next one, again and again.
 *
 *     story tok512.bin [TOKENS]
 *
 * The network has no memory: it is given all tokens so far, and those behind them, which it does not look at, are 0. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "net.h"

enum { MOST = NET_INPUT_IDS_ELEMS, TOKENS = NET_LOGITS_ELEMS / MOST, BEGIN = 1, END = 2 };

struct vocabulary {
        unsigned char *bytes;                   /* They are the file's bytes. */
        const char *piece[TOKENS];
        int length[TOKENS];
};

static long little(const unsigned char *p)
{
        return (long)(p[0] | (unsigned long)p[1] << 8 | (unsigned long)p[2] << 16 | (unsigned long)p[3] << 24);
}

/* Reads the format of llama2.c: the longest length, and for each token a score, a length, and its
 * bytes. */
static const char *vocabulary_read(struct vocabulary *v, const char *path)
{
        size_t count, at = 4;
        const char *error = file_read(path, 1 << 20, &v->bytes, &count);
        for (int k = 0; !error && k < TOKENS; k++) {
                long length = at + 8 <= count ? little(v->bytes + at + 4) : -1;
                at += 8;
                if (length < 0 || at > count || (size_t)length > count - at)
                        return "it ends before its last token";
                v->piece[k] = (const char *)v->bytes + at;
                v->length[k] = (int)length;
                at += (size_t)length;
        }
        return error;
}

/* A token that stands for a byte is written <0x0A>. The blank that begins a word is left out at the story's beginning. */
static void print_token(const struct vocabulary *v, int token, int first)
{
        const char *piece = v->piece[token];
        int length = v->length[token], blank = first && length && *piece == ' ';
        char digits[3] = { 0 };
        if (length == 6 && !memcmp(piece, "<0x", 3)) {
                memcpy(digits, piece + 3, 2);
                putchar((int)strtol(digits, NULL, 16));
        } else {
                fwrite(piece + blank, 1, (size_t)(length - blank), stdout);
        }
        fflush(stdout);
}

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
                print_token(v, next, count == 1);
                tokens[count] = next;
        }
        putchar('\n');
        return error;
}

int main(int count, char **arguments)
{
        struct vocabulary v = { 0 };
        long most = count > 2 ? strtol(arguments[2], NULL, 10) : MOST;
        if (count < 2 || count > 3 || most < 1 || most > MOST) {
                fprintf(stderr, "usage: story VOCABULARY [TOKENS]        as in llama2.c (tok512.bin); at most %d tokens\n", MOST);
                return 1;
        }
        const char *error = vocabulary_read(&v, arguments[1]);
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
