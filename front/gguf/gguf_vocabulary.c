/* SPDX-License-Identifier: MIT */
/* Vocabularies are of two kinds. Of "llama" (SentencePiece) each token has a score, and U+2581
 * stands for a blank. Of "gpt2" (byte pairs) bytes are written as characters, printable ones as
 * themselves and the others as U+0100 and on, and merges are listed in the order in which they are
 * made: a token's score is less by one for each merge before its own. */
#include "front/gguf/gguf.h"

#include <string.h>

#include "base/text.h"

enum { KIND_NORMAL = 1, KIND_USER = 4, KIND_BYTE = 6 };

static const struct gguf_key *texts_of(const struct gguf_import *im, const char *name)
{
        const struct gguf_key *k = gguf_find(&im->file, name);
        return k && k->is_array && k->kind == GGUF_TEXT ? k : NULL;
}

static bool is_model(const struct gguf_import *im, const char *word)
{
        const struct gguf_key *k = gguf_find(&im->file, "tokenizer.ggml.model");
        if (!k || k->is_array || k->kind != GGUF_TEXT)
                return false;
        const unsigned char *at = k->data;
        const struct gguf_text t = gguf_text_next(&at);
        return t.length == strlen(word) && !memcmp(t.bytes, word, t.length);
}

static int token_of(const struct gguf_import *im, const char *name, int count)
{
        int64_t token;
        return gguf_integer(gguf_find(&im->file, name), 0, &token) && token >= 0 && token < count
                       ? (int)token
                       : -1;
}

/* Is the byte written as itself in byte pairs? */
static bool is_plain(int byte)
{
        return (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
}

/* Returns the byte that a character of byte pairs stands for, or -1. */
static int byte_of(unsigned character)
{
        unsigned next = 256;
        if (character < 256)
                return is_plain((int)character) ? (int)character : -1;
        for (int byte = 0; byte < 256; byte++)
                if (!is_plain(byte) && next++ == character)
                        return byte;
        return -1;
}

/* Decodes byte pairs, characters of one or two bytes; other text stays as it is. */
static struct gguf_text of_pairs(struct arena *arena, struct gguf_text t)
{
        char *to = arena_alloc(arena, t.length + 1);
        size_t length = 0;
        for (size_t i = 0; i < t.length; i++) {
                const unsigned first = (unsigned char)t.bytes[i];
                const bool two = (first & 0xe0) == 0xc0 && i + 1 < t.length;
                const unsigned next = two ? (unsigned char)t.bytes[i + 1] & 63u : 0;
                const int byte = first < 0x80 ? byte_of(first)
                                 : two        ? byte_of((first & 31) << 6 | next)
                                              : -1;
                if (byte < 0)
                        return t;
                to[length++] = (char)byte;
                i += two;
        }
        return (struct gguf_text){ to, length };
}

/* Puts blanks in place of U+2581. */
static struct gguf_text of_pieces(struct arena *arena, struct gguf_text t)
{
        static const char blank[] = { '\xe2', '\x96', '\x81' };
        char *to = arena_alloc(arena, t.length + 1);
        size_t length = 0;
        for (size_t i = 0; i < t.length; i++) {
                const bool is_blank =
                        t.length - i >= sizeof blank && !memcmp(t.bytes + i, blank, sizeof blank);
                to[length++] = is_blank ? ' ' : t.bytes[i];
                i += is_blank ? sizeof blank - 1 : 0;
        }
        return (struct gguf_text){ to, length };
}

static int digit_of(char c)
{
        return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Returns the byte of "<0x0A>", or -1. */
static int written_byte(struct gguf_text t)
{
        if (t.length != 6 || memcmp(t.bytes, "<0x", 3) != 0 || t.bytes[5] != '>' ||
            digit_of(t.bytes[3]) < 0 || digit_of(t.bytes[4]) < 0)
                return -1;
        return 16 * digit_of(t.bytes[3]) + digit_of(t.bytes[4]);
}

/* Gives tokens that merges make their scores. A merge is two texts with a blank between them. */
static void read_merges(struct gguf_import *im, struct model_vocabulary *v)
{
        const struct gguf_key *merges = texts_of(im, "tokenizer.ggml.merges"),
                              *names = texts_of(im, "tokenizer.ggml.tokens");
        struct map *known = map_new(im->arena);
        const unsigned char *at = names->data;
        for (int i = 0; i < v->count; i++) {
                const struct gguf_text t = gguf_text_next(&at);
                if (v->tokens[i].kind == TOKEN_NORMAL) {
                        v->tokens[i].kind = TOKEN_WHOLE;
                        map_set(known, t.bytes, t.length, &v->tokens[i]);
                }
        }
        at = merges ? merges->data : NULL;
        for (int64_t i = 0; merges && i < merges->count; i++) {
                const struct gguf_text t = gguf_text_next(&at);
                const char *blank = memchr(t.bytes, ' ', t.length);
                if (!blank)
                        continue;
                char *both = arena_copy(im->arena, t.bytes, t.length);
                memmove(both + (blank - t.bytes), blank + 1,
                        t.length - (size_t)(blank - t.bytes) - 1);
                struct model_token *made = map_get(known, both, t.length - 1);
                if (!made || made->kind != TOKEN_WHOLE)
                        continue;
                made->kind = TOKEN_NORMAL;
                made->score = -(double)i;
        }
}

static struct model_token read_token(struct gguf_import *im, struct gguf_text t, int64_t kind,
                                     bool pairs, struct arena *arena)
{
        const int byte = kind == KIND_BYTE ? written_byte(t) : -1;
        struct model_token token = { .kind = byte >= 0             ? TOKEN_BYTE
                                             : kind == KIND_NORMAL ? TOKEN_NORMAL
                                             : kind == KIND_USER   ? TOKEN_WHOLE
                                                                   : TOKEN_CONTROL };
        const char one = (char)byte;
        if (byte >= 0)
                t = (struct gguf_text){ &one, 1 };
        else if (token.kind == TOKEN_NORMAL)
                t = (pairs ? of_pairs : of_pieces)(im->arena, t);
        token.text = arena_copy(arena, t.bytes, t.length);
        token.length = t.length;
        return token;
}

const struct model_vocabulary *gguf_vocabulary(struct gguf_import *im, struct arena *arena)
{
        const struct gguf_key *names = texts_of(im, "tokenizer.ggml.tokens"),
                              *scores = gguf_find(&im->file, "tokenizer.ggml.scores"),
                              *kinds = gguf_find(&im->file, "tokenizer.ggml.token_type");
        const bool pairs = is_model(im, "gpt2");
        int64_t space = !pairs, number;
        if (!names || names->count > INT32_MAX || (!pairs && !is_model(im, "llama")))
                return NULL;
        struct model_vocabulary *v = ARENA_NEW(arena, struct model_vocabulary);
        v->count = (int)names->count;
        v->tokens = arena_array(arena, (size_t)v->count + 1, sizeof *v->tokens);
        v->begin = token_of(im, "tokenizer.ggml.bos_token_id", v->count);
        v->end = token_of(im, "tokenizer.ggml.eos_token_id", v->count);
        if (gguf_integer(gguf_find(&im->file, "tokenizer.ggml.add_bos_token"), 0, &number) &&
            !number)
                v->begin = -1;
        gguf_integer(gguf_find(&im->file, "tokenizer.ggml.add_space_prefix"), 0, &space);
        v->space = space != 0;
        const unsigned char *at = names->data;
        for (int i = 0; i < v->count; i++) {
                int64_t kind = KIND_NORMAL;
                double score;
                gguf_integer(kinds, i, &kind);
                v->tokens[i] = read_token(im, gguf_text_next(&at), kind, pairs, arena);
                if (gguf_float(scores, i, &score))
                        v->tokens[i].score = score;
        }
        if (pairs)
                read_merges(im, v);
        return v;
}
