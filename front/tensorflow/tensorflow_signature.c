/* SPDX-License-Identifier: MIT */
#include "front/tensorflow/tensorflow_signature.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "ir/loop/loop_build.h"

enum { SIGNATURES_MOST = 64, PORTS_MOST = 4096 };

static int by_name(const void *a, const void *b)
{
        const struct tf_port *x = a, *y = b;
        return strcmp(x->name, y->name);
}

static bool read_ports(struct tf_import *im, struct tf_signature *s, Tf__Port *const *from,
                       size_t count, struct tf_port **ports, int *port_count)
{
        if (count > PORTS_MOST)
                return tf_error(im, "signature '%s' has %zu ports", s->safe, count);
        *ports = arena_array(im->arena, count + 1, sizeof **ports);
        for (size_t i = 0; i < count; i++) {
                struct tf_port *p = &(*ports)[i];
                const bytes_t key = from[i]->key;
                p->info = from[i]->value;
                p->safe = tf_safe(im, key);
                p->name = arena_printf(im->m->arena, "%.*s", (int)key.len,
                                       key.len ? (const char *)key.data : "");
                if (!p->info || !p->info->name.len)
                        return refusals_add(&im->refusals,
                                            "signature '%s': '%s' is no tensor, which is not "
                                            "supported",
                                            s->safe, p->safe);
                if (!key.len || strlen(p->name) != key.len)
                        return tf_error(im, "signature '%s' has a port without a name", s->safe);
                if (!tf_find_source(im, im->graph, p->info->name, &p->source))
                        return false;
        }
        *port_count = (int)count;
        qsort(*ports, count, sizeof **ports, by_name);
        for (size_t i = 1; i < count; i++)
                if (!strcmp((*ports)[i - 1].name, (*ports)[i].name))
                        return tf_error(im, "signature '%s' has two ports '%s'", s->safe,
                                        (*ports)[i].safe);
        return true;
}

static int by_key(const void *a, const void *b)
{
        const Tf__NamedEntry *const *x = a, *const *y = b;
        const size_t one = (*x)->key.len, other = (*y)->key.len;
        const size_t both = one < other ? one : other;
        const int order = both ? memcmp((*x)->key.data, (*y)->key.data, both) : 0;
        return order ? order : (one > other) - (one < other);
}

bool tf_read_signatures(struct tf_import *im)
{
        static const char init[] = "__saved_model_init_op";
        struct names *names = names_new(im->m->arena);
        const size_t all = im->meta ? im->meta->n_signature_def : 0;
        const Tf__NamedEntry **sorted = arena_array(im->arena, all + 1, sizeof *sorted);
        size_t count = 0;
        for (size_t i = 0; i < all; i++) {
                const Tf__NamedEntry *e = im->meta->signature_def[i];
                if (e->value && e->value->n_outputs && !tf_same(e->key, init, strlen(init)))
                        sorted[count++] = e;
        }
        if (count > SIGNATURES_MOST) {
                diag_error(im->diag, EXIT_UNSUPPORTED, "%zu signatures, at most %d are supported",
                           count, SIGNATURES_MOST);
                return false;
        }
        qsort(sorted, count, sizeof *sorted, by_key);
        im->signatures = arena_array(im->arena, count + 1, sizeof *im->signatures);
        loop_entry_reserve(names);
        for (size_t i = 0; i < count; i++) {
                struct tf_signature *s = &im->signatures[i];
                const bytes_t key = sorted[i]->key;
                const char *text = key.len ? (const char *)key.data : "";
                const char *plain = arena_printf(im->m->arena, "%.*s", (int)key.len, text);
                const Tf__Entry *e = sorted[i]->value;
                const bool fits = strlen(plain) == key.len && text_is_identifier(plain) &&
                                  names_reserve(names, plain);
                s->name = fits ? plain : text_identifier(names, text, key.len, "signature");
                s->safe = tf_safe(im, key);
                if (!read_ports(im, s, e->inputs, e->n_inputs, &s->inputs, &s->input_count) ||
                    !read_ports(im, s, e->outputs, e->n_outputs, &s->outputs, &s->output_count))
                        return false;
                im->signature_count++;
        }
        return !im->meta || count || tf_error(im, "the SavedModel has no signatures: save it with "
                                                  "signatures=..");
}

bool tf_signature_input(const struct tf_import *im, const char *name)
{
        for (int s = 0; s < im->signature_count; s++)
                for (int i = 0; i < im->signatures[s].input_count; i++)
                        if (!strcmp(im->signatures[s].inputs[i].name, name))
                                return true;
        return false;
}
