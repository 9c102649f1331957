/* SPDX-License-Identifier: MIT */
/* Prints types in C, and the small functions of c_helpers.def. */
#include "codegen/c_writer.h"

#include <string.h>

const char *c_type(enum element e)
{
        return e == E_BOOL ? "int" : element_info[e].c_type;
}

const char *c_type_here(const struct c_writer *w, enum element e)
{
        return e == E_INDEX && w->index ? w->index : c_type(e);
}

const char *c_memory_name(enum element e)
{
        return e == E_BOOL ? "b8" : element_info[e].text;
}

const char *c_memory_type(struct c_writer *w, enum element e)
{
        /* A kernel sees memory in one type. */
        if (w->dialect->is_device)
                return element_info[e].c_type;
        w->memory_used[e] = true;
        return c_memory_name(e);
}

struct helper_info { const char *name, *definition; };
static const struct helper_info helper_info[HELPER_COUNT] = {
#define HELPER(id, name, definition) { name, definition },
#include "codegen/c_helpers.def"
};

/* Integer types add this to elements.def: the unsigned type, the limits, and 2^k just above the
 * largest value. */
struct integer_info { const char *unsigned_type, *least, *largest, *above; };
static const struct integer_info integer_info[ELEMENT_COUNT] = {
        [E_I8] = { "uint8_t", "INT8_MIN", "INT8_MAX", "128.0" },
        [E_I16] = { "uint16_t", "INT16_MIN", "INT16_MAX", "32768.0" },
        [E_I32] = { "uint32_t", "INT32_MIN", "INT32_MAX", "2147483648.0" },
        [E_I64] = { "uint64_t", "INT64_MIN", "INT64_MAX", "9223372036854775808.0" },
        [E_U8] = { "uint8_t", "0", "UINT8_MAX", "256.0" },
        [E_U16] = { "uint16_t", "0", "UINT16_MAX", "65536.0" },
        [E_U32] = { "uint32_t", "0", "UINT32_MAX", "4294967296.0" },
        [E_U64] = { "uint64_t", "0", "UINT64_MAX", "18446744073709551616.0" },
        [E_INDEX] = { "size_t", "PTRDIFF_MIN", "PTRDIFF_MAX", NULL },
};

static void expand(struct text *out, const char *pattern, enum element e, enum element from)
{
        for (const char *p = pattern; *p; p++) {
                enum element of = *p == '@' ? from : e;
                if ((*p != '$' && *p != '@') || !strchr("TeULMH", p[1])) {
                        text_add_bytes(out, p, 1);
                        continue;
                }
                p++;
                switch (*p) {
                case 'T': text_add(out, "%s", c_type(of)); break;
                case 'e': text_add(out, "%s", element_info[of].text); break;
                case 'U': text_add(out, "%s", integer_info[of].unsigned_type); break;
                case 'L': text_add(out, "%s", integer_info[of].least); break;
                case 'M': text_add(out, "%s", integer_info[of].largest); break;
                case 'H':
                        text_add(out, "%s%s", integer_info[e].above, from == E_F32 ? "f" : "");
                        break;
                }
        }
}

static char *expand_name(struct c_writer *w, enum c_helper h, enum element e, enum element from)
{
        struct text text = { 0 };
        expand(&text, helper_info[h].name, e, from);
        char *name = arena_string(w->arena, text.data);
        text_free(&text);
        return name;
}

const char *c_helper(struct c_writer *w, enum c_helper h, enum element e, enum element from)
{
        unsigned char *used = &w->helper_used[h][e][from];
        if (!*used || w->level + 1 < *used)
                *used = (unsigned char)(w->level + 1);
        if (h == HELPER_ODD_F64_SIGNED)
                c_helper(w, HELPER_ODD_F64, e, from);
        return expand_name(w, h, e, from);
}

static bool is_compute(enum element e)
{
        return e == E_INDEX ||
               (element_info[e].compute == e && element_info[e].class != CLASS_BOOL);
}

/* ---- all possible helpers, in the order in which they are printed ---- */

struct instance { enum c_helper helper; enum element element, from; };
enum { INSTANCES = HELPER_COUNT * ELEMENT_COUNT * ELEMENT_COUNT };

static struct instance instance_at(int i)
{
        return (struct instance){ (enum c_helper)(i / (ELEMENT_COUNT * ELEMENT_COUNT)),
                                  (enum element)(i / ELEMENT_COUNT % ELEMENT_COUNT),
                                  (enum element)(i % ELEMENT_COUNT) };
}

static bool is_possible(struct instance i)
{
        if (strstr(helper_info[i.helper].name, "@e"))
                return (i.from == E_F32 || i.from == E_F64) && integer_info[i.element].above;
        return i.from == E_F32 && is_compute(i.element);
}

/* All names are reserved, so that names do not depend on which helpers are used. */
void c_helpers_reserve(struct c_writer *w)
{
        for (int k = 0; k < INSTANCES; k++) {
                struct instance i = instance_at(k);
                if (is_possible(i))
                        c_reserve(w, expand_name(w, i.helper, i.element, i.from));
        }
}

static void print_helpers(struct c_writer *w, int level)
{
        bool any = false;
        for (int k = 0; k < INSTANCES; k++) {
                struct instance i = instance_at(k);
                if (w->helper_used[i.helper][i.element][i.from] != level + 1)
                        continue;
                if (!any)
                        text_add(w->out, "\n");
                if (!any)
                        c_level_open(w, w->out, level);
                text_add(w->out, "%s%s",
                         any ? ""
                             : "/* These are C's operators and conversions, defined for all "
                               "operands. */\n",
                         w->dialect->inlined);
                if (w->dialect->library)        /* A formula may be left out. */
                        text_add(w->out, "__attribute__((unused)) ");
                expand(w->out, helper_info[i.helper].definition, i.element, i.from);
                text_add(w->out, "\n");
                any = true;
        }
        if (any)
                c_level_close(w, w->out, level);
}

void c_helpers_print(struct c_writer *w)
{
        for (int level = 0; level < w->level_count; level++)
                print_helpers(w, level);
}
