/* SPDX-License-Identifier: MIT */
/* Mutations of ONNX models as trees of messages.
 *
 * The bytes are read by the descriptors of onnx.proto into a tree: a node is one field as it stands
 * in the file, with its bytes, its number, or the fields of its message. A mutation changes one
 * node; then the tree is written again, with lengths that are right.
 *
 *     model -- graph -- node -- op_type "Relu"
 *                   |       |-- input "x"
 *                   |       `-- output "y"
 *                   `-- input -- name "x", type -- ..
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "front/onnx/onnx.h"
#include "test/fuzz/fuzz.h"

enum { NODES_MAX = 4096, DEPTH_MAX = 60 };

struct node {
        const ProtobufCMessageDescriptor *in;   /* It is the message that has the field. */
        const ProtobufCMessageDescriptor *message; /* What is inside; NULL: the field is none. */
        unsigned field;
        int wire;
        uint64_t number;
        const uint8_t *bytes;
        size_t length;
        struct node *first, *next;      /* Its message's fields, and its own neighbour. */
};

struct tree { struct node nodes[NODES_MAX]; int count; uint8_t own[4096]; size_t own_used; };
struct reader { const uint8_t *at, *end; };

/* ---- random numbers ---- */

static unsigned state;

static unsigned draw(unsigned below)
{
        state = state * 1664525u + 1013904223u;
        return below ? (state >> 8) % below : 0;
}

/* ---- bytes to tree ---- */

static bool read_varint(struct reader *r, uint64_t *n)
{
        *n = 0;
        for (int shift = 0; shift < 70; shift += 7) {
                if (r->at >= r->end)
                        return false;
                const uint8_t byte = *r->at++;
                if (shift < 64)
                        *n |= (uint64_t)(byte & 127) << shift;
                if (!(byte & 128))
                        return true;
        }
        return false;
}

static bool read_fixed(struct reader *r, size_t bytes, uint64_t *n)
{
        *n = 0;
        if ((size_t)(r->end - r->at) < bytes)
                return false;
        memcpy(n, r->at, bytes);
        r->at += bytes;
        return true;
}

static bool read_fields(struct tree *t, struct reader r, const ProtobufCMessageDescriptor *of,
                        struct node **first, int depth)
{
        while (r.at < r.end) {
                uint64_t key, length;
                if (t->count == NODES_MAX || !read_varint(&r, &key))
                        return false;
                struct node *n = *first = &t->nodes[t->count++];
                *n = (struct node){ .in = of, .field = (unsigned)(key >> 3), .wire = key & 7 };
                first = &n->next;
                const ProtobufCFieldDescriptor *f =
                        protobuf_c_message_descriptor_get_field(of, n->field);
                if (n->wire == WIRE_VARINT && read_varint(&r, &n->number))
                        continue;
                if ((n->wire == WIRE_FIXED64 || n->wire == WIRE_FIXED32) &&
                    read_fixed(&r, n->wire == WIRE_FIXED64 ? 8 : 4, &n->number))
                        continue;
                if (n->wire != WIRE_BYTES || !read_varint(&r, &length) ||
                    length > (uint64_t)(r.end - r.at))
                        return false;
                n->bytes = r.at;
                n->length = (size_t)length;
                r.at += length;
                if (!f || f->type != PROTOBUF_C_TYPE_MESSAGE)
                        continue;
                n->message = f->descriptor;
                if (depth == DEPTH_MAX ||
                    !read_fields(t, (struct reader){ n->bytes, r.at }, f->descriptor, &n->first,
                                 depth + 1))
                        return false;
        }
        return true;
}

static bool read_tree(struct tree *t, const uint8_t *bytes, size_t size)
{
        struct reader all = { bytes, bytes + size };
        t->count = 1;
        t->own_used = 0;
        t->nodes[0] = (struct node){ .message = &onnx__model_proto__descriptor };
        return size && read_fields(t, all, t->nodes[0].message, &t->nodes[0].first, 0);
}

/* ---- tree to bytes ---- */

struct writer { uint8_t *at, *end; bool full; };

static void put(struct writer *w, const void *bytes, size_t length)
{
        if ((size_t)(w->end - w->at) < length) {
                w->full = true;
                return;
        }
        if (length)
                memcpy(w->at, bytes, length);
        w->at += length;
}

static size_t varint_of(uint64_t n, uint8_t bytes[10])
{
        size_t length = 0;
        do {
                bytes[length++] = (uint8_t)(n & 127) | (n > 127 ? 128 : 0);
                n >>= 7;
        } while (n);
        return length;
}

static void put_varint(struct writer *w, uint64_t n)
{
        uint8_t bytes[10];
        put(w, bytes, varint_of(n, bytes));
}

static void put_fields(struct writer *w, const struct node *n, int depth);

static void put_node(struct writer *w, const struct node *n, int depth)
{
        put_varint(w, (uint64_t)n->field << 3 | (unsigned)n->wire);
        if (n->wire == WIRE_VARINT)
                put_varint(w, n->number);
        else if (n->wire != WIRE_BYTES)
                put(w, &n->number, n->wire == WIRE_FIXED64 ? 8 : 4);
        else if (!n->message) {
                put_varint(w, n->length);
                put(w, n->bytes, n->length);
        } else {
                /* The length comes first: the message is moved behind it. */
                uint8_t length[10], *start = w->at;
                put_fields(w, n->first, depth + 1);
                const size_t bytes = (size_t)(w->at - start), more = varint_of(bytes, length);
                if ((size_t)(w->end - w->at) < more) {
                        w->full = true;
                        return;
                }
                memmove(start + more, start, bytes);
                memcpy(start, length, more);
                w->at += more;
        }
}

static void put_fields(struct writer *w, const struct node *n, int depth)
{
        for (; n && !w->full && depth < DEPTH_MAX + 1; n = n->next)
                put_node(w, n, depth);
}

/* ---- mutations ---- */

/* Returns the place of a pointer to the node; every node but the root has one. */
static struct node **place_of(struct tree *t, const struct node *n)
{
        for (int i = 0; i < t->count; i++) {
                if (t->nodes[i].first == n)
                        return &t->nodes[i].first;
                if (t->nodes[i].next == n)
                        return &t->nodes[i].next;
        }
        return NULL;
}

/* Returns another field of the same message type and number, or n. */
static const struct node *alike(const struct tree *t, const struct node *n)
{
        const unsigned start = draw((unsigned)t->count);
        for (int i = 0; i < t->count; i++) {
                const struct node *o = &t->nodes[(start + (unsigned)i) % (unsigned)t->count];
                if (o != n && o->in == n->in && o->field == n->field && o->wire == n->wire)
                        return o;
        }
        return n;
}

static void take(struct node *n, const struct node *from)
{
        struct node *next = n->next;
        *n = *from;
        n->next = next;
}

static void change_number(struct node *n)
{
        static const uint64_t odd[] = { 0,         1,          2,         3,          4,   7, 8, 16,
                                        17,        127,        128,       255,        256, 1023,
                                        1u << 16,  0x7fffffff, 1u << 31,  0xffffffff, 1ull << 32,
                                        1ull << 62, 1ull << 63, ~0ull, ~0ull - 1, 0x7f800000,
                                        0x7fc00000 };
        switch (draw(4)) {
        case 0: n->number = odd[draw(sizeof odd / sizeof *odd)]; break;
        case 1: n->number++; break;
        case 2: n->number--; break;
        default: n->number = draw(24); break;
        }
}

/* Gives the field bytes of its own, which libFuzzer changes. */
static void change_bytes(struct tree *t, struct node *n)
{
        const size_t left = sizeof t->own - t->own_used, more = 16;
        if (n->length + more > left)
                return;
        uint8_t *own = t->own + t->own_used;
        if (n->length)
                memcpy(own, n->bytes, n->length);
        n->length = LLVMFuzzerMutate(own, n->length, n->length + more);
        n->bytes = own;
        t->own_used += n->length;
}

/* Gives a node of the graph another operator of the table. */
static bool change_operator(struct node *n)
{
        enum { OP_TYPE = 4 };
        const struct onnx_row *rows;
        const int count = onnx_rows(&rows);
        if (n->in != &onnx__node_proto__descriptor || n->field != OP_TYPE)
                return false;
        n->bytes = (const uint8_t *)rows[draw((unsigned)count)].op;
        n->length = strlen((const char *)n->bytes);
        return true;
}

static void mutate(struct tree *t)
{
        struct node *n = &t->nodes[1 + draw((unsigned)t->count - 1)], **place = place_of(t, n);
        switch (draw(8)) {
        case 0:
                if (place)
                        *place = n->next;
                break;
        case 1:                         /* twice: what is inside is one */
                if (t->count < NODES_MAX) {
                        struct node *twin = &t->nodes[t->count++];
                        *twin = *n;
                        n->next = twin;
                }
                break;
        case 2:                         /* exchanged with its neighbour */
                if (place && n->next) {
                        struct node *other = n->next;
                        n->next = other->next;
                        other->next = n;
                        *place = other;
                }
                break;
        case 3: case 4: take(n, alike(t, n)); break;
        default:
                if (n->wire != WIRE_BYTES)
                        change_number(n);
                else if (!n->message && (draw(4) == 0 || !change_operator(n)))
                        change_bytes(t, n);
        }
}

static size_t write_tree(const struct tree *t, uint8_t *bytes, size_t room)
{
        struct writer w = { bytes, bytes + room, false };
        put_fields(&w, t->nodes[0].first, 0);
        return w.full ? 0 : (size_t)(w.at - bytes);
}

/* ---- what libFuzzer calls ---- */

size_t fuzz_mutate_model(uint8_t *bytes, size_t size, size_t room, unsigned seed)
{
        static struct tree t;
        enum { RAW = 16 };
        state = seed;
        if (draw(RAW) == 0 || !read_tree(&t, bytes, size) || t.count < 2)
                return LLVMFuzzerMutate(bytes, size, room);
        for (unsigned i = 1 + draw(3); i; i--)
                mutate(&t);
        uint8_t *result = malloc(room);
        const size_t made = write_tree(&t, result, room);
        if (made)
                memcpy(bytes, result, made);
        free(result);
        return made ? made : LLVMFuzzerMutate(bytes, size, room);
}

size_t fuzz_cross_models(const uint8_t *bytes, size_t size, const uint8_t *other, size_t other_size,
                         uint8_t *result, size_t room, unsigned seed)
{
        static struct tree t, from;
        state = seed;
        if (!read_tree(&t, bytes, size) || !read_tree(&from, other, other_size) || t.count < 2 ||
            from.count < 2)
                return 0;
        const struct node *graft = &from.nodes[1 + draw((unsigned)from.count - 1)];
        for (unsigned i = 0, start = draw((unsigned)t.count); i < (unsigned)t.count; i++) {
                struct node *n = &t.nodes[(start + i) % (unsigned)t.count];
                if (n == t.nodes || n->in != graft->in)
                        continue;
                if (n->field == graft->field) {
                        take(n, graft);
                } else if (t.count < NODES_MAX) {
                        struct node *more = &t.nodes[t.count++];
                        *more = *graft;
                        more->next = n->next;
                        n->next = more;
                }
                return write_tree(&t, result, room);
        }
        return 0;
}
