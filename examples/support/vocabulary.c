/* SPDX-License-Identifier: MIT */
#include "vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

enum { FIRST_BYTE = 3, BEGIN = 1, END = 2 };    /* Those of llama2.c; token 3 stands for byte 0. */

static const char early[] = "it ends before its last token";

static unsigned long little(const unsigned char *p)
{
        return p[0] | (unsigned long)p[1] << 8 | (unsigned long)p[2] << 16 |
               (unsigned long)p[3] << 24;
}

/* ---- an index of texts ---- */

static int compare(const char *a, int a_length, const char *b, int b_length)
{
        const int shorter = a_length < b_length ? a_length : b_length;
        const int order = shorter ? memcmp(a, b, (size_t)shorter) : 0;
        return order ? order : a_length - b_length;
}

static const struct vocabulary *sorting;        /* qsort hands it to nobody. */

static int by_text(const void *a, const void *b)
{
        const int i = *(const int *)a, k = *(const int *)b;
        const struct piece *x = &sorting->pieces[i], *y = &sorting->pieces[k];
        const int order = compare(x->text, x->length, y->text, y->length);
        return order ? order : i - k;
}

static void sort(struct vocabulary *v)
{
        v->sorted_count = 0;
        for (int k = 0; k < v->count; k++)
                if (v->pieces[k].length && v->pieces[k].kind != 'c' && v->pieces[k].kind != 'b')
                        v->sorted[v->sorted_count++] = k;
        sorting = v;
        qsort(v->sorted, (size_t)v->sorted_count, sizeof *v->sorted, by_text);
}

/* Returns the first token of this text, or -1. */
static int find(const struct vocabulary *v, const char *text, int length)
{
        int low = 0, high = v->sorted_count;
        while (low < high) {
                const int middle = low + (high - low) / 2;
                const struct piece *p = &v->pieces[v->sorted[middle]];
                if (compare(p->text, p->length, text, length) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == v->sorted_count)
                return -1;
        const struct piece *p = &v->pieces[v->sorted[low]];
        return p->length == length && !memcmp(p->text, text, (size_t)length) ? v->sorted[low] : -1;
}

/* ---- llama2.c's format ---- */

static const char *read_binary(struct vocabulary *v, size_t bytes, int count)
{
        size_t at = 4;
        for (int k = 0; k < count; k++) {
                unsigned long length = at + 8 <= bytes ? little(v->bytes + at + 4) : bytes;
                if (length >= bytes || length > bytes - at - 8)
                        return early;
                memcpy(&v->pieces[k].score, v->bytes + at, sizeof(float));
                v->pieces[k].text = (const char *)v->bytes + at + 8;
                v->pieces[k].length = (int)length;
                v->pieces[k].kind = 'n';
                at += 8 + length;
        }
        for (int i = 0; i < 256; i++)
                v->of_byte[i] = FIRST_BYTE + i < count ? FIRST_BYTE + i : -1;
        v->begin = BEGIN;
        v->end = END;
        v->space = 1;
        return NULL;
}

/* ---- the text of dnncc --info=tokens ---- */

/* Returns the line that begins at *at, ended by a zero in place of its end, or NULL. */
static char *line_of(struct vocabulary *v, size_t bytes, size_t *at)
{
        char *line = (char *)v->bytes + *at, *end = *at < bytes ? memchr(line, '\n', bytes - *at)
                                                                : NULL;
        if (!end)
                return NULL;
        *end = 0;
        *at = (size_t)(end + 1 - (char *)v->bytes);
        return line;
}

static int number_of(struct vocabulary *v, size_t bytes, size_t *at, const char *word, int *number)
{
        const char *line = line_of(v, bytes, at);
        const size_t length = strlen(word);
        if (!line || strncmp(line, word, length) || line[length] != ' ')
                return 0;
        *number = atoi(line + length + 1);
        return 1;
}

/* Puts bytes in place of \xHH; returns the new length. */
static int unescape(char *text)
{
        int length = 0;
        for (const char *p = text; *p; length++) {
                char digits[3] = { 0 };
                if (p[0] == '\\' && p[1] == 'x' && p[2] && p[3]) {
                        memcpy(digits, p + 2, 2);
                        text[length] = (char)strtol(digits, NULL, 16);
                        p += 4;
                } else {
                        text[length] = *p++;
                }
        }
        return length;
}

static const char *read_text(struct vocabulary *v, size_t bytes, int count)
{
        size_t at = 0;
        int tokens;
        if (!number_of(v, bytes, &at, "tokens", &tokens) ||
            !number_of(v, bytes, &at, "begin", &v->begin) ||
            !number_of(v, bytes, &at, "end", &v->end) ||
            !number_of(v, bytes, &at, "space", &v->space))
                return "it does not begin as dnncc --info=tokens writes it";
        if (tokens != count)
                return "it has another number of tokens than the network";
        if (v->begin >= count || v->end >= count)
                return "a text begins or ends with a token that is not there";
        for (int i = 0; i < 256; i++)
                v->of_byte[i] = -1;
        for (int k = 0; k < count; k++) {
                char *line = line_of(v, bytes, &at), *kind = line ? strchr(line, ' ') : NULL,
                     *text = kind ? strchr(kind + 1, ' ') : NULL;
                struct piece *p = &v->pieces[k];
                if (!text)
                        return early;
                p->score = strtof(line, NULL);
                p->kind = kind[1];
                p->text = text + 1;
                p->length = unescape(text + 1);
                if (p->length == 1 && p->kind != 'c' &&
                    (p->kind == 'b' || v->of_byte[(unsigned char)*p->text] < 0))
                        v->of_byte[(unsigned char)*p->text] = k;
        }
        return NULL;
}

const char *vocabulary_read(struct vocabulary *v, const char *path, int count)
{
        size_t bytes;
        const char *error = file_read(path, 1 << 26, &v->bytes, &bytes);
        if (!error && count > VOCABULARY_MOST)
                error = "there are too many tokens";
        if (!error)
                error = bytes > 7 && !memcmp(v->bytes, "tokens ", 7) ? read_text(v, bytes, count)
                                                                     : read_binary(v, bytes, count);
        v->count = error ? 0 : count;
        sort(v);
        return error;
}

void vocabulary_print(const struct vocabulary *v, int token, int first)
{
        const struct piece *p = &v->pieces[token];
        int blank = first && v->space && p->length && *p->text == ' ';
        char digits[3] = { 0 };
        if (p->kind == 'c')
                return;
        if (p->length == 6 && !memcmp(p->text, "<0x", 3)) {
                memcpy(digits, p->text + 3, 2);
                putchar((int)strtol(digits, NULL, 16));
        } else {
                fwrite(p->text + blank, 1, (size_t)(p->length - blank), stdout);
        }
        fflush(stdout);
}

/* Returns the token that two of them are joined to, or -1. */
static int joined(const struct vocabulary *v, const struct piece *a, const struct piece *b)
{
        enum { MOST = 256 };
        char text[MOST];
        if (a->length + b->length > MOST || a->kind == 'c' || b->kind == 'c')
                return -1;
        memcpy(text, a->text, (size_t)a->length);
        memcpy(text + a->length, b->text, (size_t)b->length);
        const int token = find(v, text, a->length + b->length);
        return token >= 0 && v->pieces[token].kind == 'n' ? token : -1;
}

/* Joins one pair; returns the new number of tokens. */
static int join(const struct vocabulary *v, int *tokens, int count)
{
        int best = -1, made = -1;
        for (int i = 0; i + 1 < count; i++) {
                int token = joined(v, &v->pieces[tokens[i]], &v->pieces[tokens[i + 1]]);
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
                int length = 1, token = p == text && v->space ? find(v, " ", 1) : -1;
                if (token >= 0 && count < most)
                        tokens[count++] = token;
                while ((p[length] & 0xc0) == 0x80)      /* A character goes on. */
                        length++;
                token = find(v, p, length);
                for (int i = 0; i < (token < 0 ? length : 1); i++) {
                        int own = token < 0 ? v->of_byte[(unsigned char)p[i]] : token;
                        if (count == most || own < 0)
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
