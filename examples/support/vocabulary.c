/* SPDX-License-Identifier: MIT */
#include "vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

enum { FIRST_BYTE = 3 };                /* Token 3 stands for byte 0. */

static unsigned long little(const unsigned char *p)
{
        return p[0] | (unsigned long)p[1] << 8 | (unsigned long)p[2] << 16 |
               (unsigned long)p[3] << 24;
}

const char *vocabulary_read(struct vocabulary *v, const char *path, int count)
{
        size_t bytes, at = 4;
        const char *error = file_read(path, 1 << 24, &v->bytes, &bytes);
        if (!error && count > VOCABULARY_MOST)
                error = "there are too many tokens";
        for (int k = 0; !error && k < count; k++) {
                unsigned long length = at + 8 <= bytes ? little(v->bytes + at + 4) : bytes;
                if (length >= bytes || length > bytes - at - 8)
                        return "it ends before its last token";
                memcpy(&v->pieces[k].score, v->bytes + at, sizeof(float));
                v->pieces[k].text = (const char *)v->bytes + at + 8;
                v->pieces[k].length = (int)length;
                at += 8 + length;
        }
        v->count = error ? 0 : count;
        return error;
}

void vocabulary_print(const struct vocabulary *v, int token, int first)
{
        const struct piece *p = &v->pieces[token];
        int blank = first && p->length && *p->text == ' ';
        char digits[3] = { 0 };
        if (p->length == 6 && !memcmp(p->text, "<0x", 3)) {
                memcpy(digits, p->text + 3, 2);
                putchar((int)strtol(digits, NULL, 16));
        } else {
                fwrite(p->text + blank, 1, (size_t)(p->length - blank), stdout);
        }
        fflush(stdout);
}

/* Returns the token of a text that is two parts, or -1. */
static int find(const struct vocabulary *v, const char *a, int a_length, const char *b,
                int b_length)
{
        for (int k = 0; k < v->count; k++)
                if (v->pieces[k].length == a_length + b_length && a_length + b_length &&
                    !memcmp(v->pieces[k].text, a, (size_t)a_length) &&
                    !memcmp(v->pieces[k].text + a_length, b, (size_t)b_length))
                        return k;
        return -1;
}

/* Joins one pair; returns the new number of tokens. */
static int join(const struct vocabulary *v, int *tokens, int count)
{
        int best = -1, made = -1;
        for (int i = 0; i + 1 < count; i++) {
                const struct piece *a = &v->pieces[tokens[i]], *b = &v->pieces[tokens[i + 1]];
                int token = find(v, a->text, a->length, b->text, b->length);
                if (token >= 0 && (made < 0 || v->pieces[token].score > v->pieces[made].score)) {
                        best = i;
                        made = token;
                }
        }
        if (best < 0)
                return count;
        tokens[best] = made;
        memmove(&tokens[best + 1], &tokens[best + 2], (size_t)(count - best - 2) * sizeof *tokens);
        return count - 1;
}

int vocabulary_encode(const struct vocabulary *v, const char *text, int most, int *tokens)
{
        int count = 0, before;
        for (const char *p = text; *p; p++) {
                int length = 1, token = p == text ? find(v, " ", 1, "", 0) : -1;
                if (token >= 0 && count < most)
                        tokens[count++] = token;
                while ((p[length] & 0xc0) == 0x80)      /* A character goes on. */
                        length++;
                token = find(v, p, length, "", 0);
                for (int i = 0; i < (token < 0 ? length : 1); i++) {
                        int own = token < 0 ? FIRST_BYTE + (unsigned char)p[i] : token;
                        if (count == most || own >= v->count)
                                return -1;
                        tokens[count++] = own;
                }
                p += length - 1;
        }
        do {
                before = count;
                count = join(v, tokens, count);
        } while (count < before);
        return count;
}
