/* SPDX-License-Identifier: MIT */
/* The interpreter lays out a program's buffers in memory, and runs it. */
#include "ir/interp/interp.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "ir/interp/interp_code.h"

enum { MEMORY_ALIGN = 64, GARBAGE = 0xa5 };

bool interp_reserve(struct interp *interp, int64_t count, int bytes,
                    const struct interp_options *options, int64_t *offset, struct diag *diag)
{
        size_t size, end;
        bool fits = count >= 0 && size_mul((size_t)count, (size_t)bytes, &size) &&
                    size_add(size, MEMORY_ALIGN - 1, &size) &&
                    size_add(interp->memory_bytes, size & ~(size_t)(MEMORY_ALIGN - 1), &end) &&
                    end <= INT64_MAX / 2;
        if (!fits || (options->max_bytes && end > options->max_bytes)) {
                diag_error(diag, EXIT_BUDGET,
                           "interpreting this program takes more than %llu bytes of memory",
                           (unsigned long long)(options->max_bytes ? options->max_bytes
                                                                   : INT64_MAX / 2));
                return false;
        }
        *offset = (int64_t)interp->memory_bytes;
        interp->memory_bytes = end;
        return true;
}

/* ---- buffers ---- */

/* Is b a buffer of another entry? It does not exist then. */
static bool is_of_other(const struct loop_buffer *b, int entry)
{
        const struct loop_buffer *root = loop_buffer_root((struct loop_buffer *)(uintptr_t)b, NULL);
        return !loop_is_of_all(root) && root->entry != entry;
}

static bool is_converted(const struct loop_buffer *b, bool as_double)
{
        bool outside = b->space == SPACE_INPUT || b->space == SPACE_CONSTANT;
        return as_double && outside && element_is_float(b->element) && b->element != E_F64;
}

static void describe(struct interp *interp, struct loop_buffer *b, int number, int *inputs,
                     int *outputs)
{
        int64_t view;
        struct loop_buffer *root = loop_buffer_root(b, &view);
        enum element element = interp_element(b->element, interp->as_double);
        bool splat = root->space == SPACE_CONSTANT && root->splat;
        interp->descriptors[number] = (struct descriptor){ .extent = b->extent,
                                                           .mask = splat ? 0 : ~UINT64_C(0),
                                                           .offset = -1,
                                                           .bytes = element_info[element].bytes };
        interp->buffers[number] =
                (struct interp_buffer){ .element = b->element,
                                        .space = root->space,
                                        .root = root == b ? number : root->number,
                                        .data = root->data,
                                        .view = splat ? 0 : view * element_info[element].bytes,
                                        .input = loop_is_input(b) ? (*inputs)++ : -1,
                                        .output = loop_is_output(b) ? (*outputs)++ : -1 };
        b->number = number;
}

static bool place_converted(struct interp *interp, const struct loop_program *p,
                            const struct interp_options *options, struct diag *diag)
{
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                struct descriptor *d = &interp->descriptors[b->number];
                int64_t extent = b->splat && b->space == SPACE_CONSTANT ? 1 : b->extent;
                if (!is_of_other(b, options->entry) && is_converted(b, options->as_double) &&
                    !interp_reserve(interp, extent, d->bytes, options, &d->offset, diag))
                        return false;
        }
        return true;
}

/* Places the workspace. A plan's offsets are for elements as they are stored; where these live as
 * double, every buffer gets memory of its own. */
static bool place_workspace(struct interp *interp, const struct loop_program *p,
                            const struct interp_options *options, struct diag *diag)
{
        bool planned = p->planned && !options->as_double;
        const int64_t size = p->entries[options->entry].workspace_size;
        int64_t bases[REGIONS_MAX + 1] = { 0 };
        for (int i = 0; planned && i <= p->region_count; i++)
                if (!interp_reserve(interp, i ? p->regions[i - 1].size : size, 1, options,
                                    &bases[i], diag))
                        return false;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                struct descriptor *d = &interp->descriptors[b->number];
                if (b->space != SPACE_WORKSPACE || b->entry != options->entry)
                        continue;
                if (!planned) {
                        if (!interp_reserve(interp, b->extent, d->bytes, options, &d->offset, diag))
                                return false;
                        continue;
                }
                int64_t room = (b->region ? p->regions[b->region - 1].size : size) - b->offset;
                d->offset = bases[b->region] + b->offset;
                if (b->offset < 0 || room < 0)
                        d->offset = d->extent = 0;
                else if (d->extent > room / d->bytes) /* The buffer is not in the plan, so nothing
                                                       * may use it. */
                        d->extent = room / d->bytes;
        }
        return true;
}

static bool place_buffers(struct interp *interp, const struct loop_program *p,
                          const struct interp_options *options, struct diag *diag)
{
        int inputs = 0, outputs = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                interp->buffer_count++;
        interp->descriptor_count = interp->buffer_count;
        interp->descriptors =
                memory_alloc((size_t)interp->buffer_count * sizeof *interp->descriptors);
        interp->buffers = memory_alloc((size_t)interp->buffer_count * sizeof *interp->buffers);
        int number = 0;
        for (struct loop_buffer *b = p->buffers; b; b = b->next) {
                int none = 0;
                bool other = is_of_other(b, options->entry);
                describe(interp, b, number, other ? &none : &inputs, other ? &none : &outputs);
                if (other) {
                        interp->descriptors[number].extent = 0;
                        interp->buffers[number].space = SPACE_WORKSPACE;
                        if (interp->buffers[number].root == number)
                                interp->descriptors[number].offset = 0;
                }
                number++;
        }
        if (!place_converted(interp, p, options, diag))
                return false;
        interp->garbage_from = interp->memory_bytes;
        return place_workspace(interp, p, options, diag);
}

/* ---- data ---- */

static void widen(enum element e, const void *from, unsigned char *to, int64_t count)
{
        for (int64_t i = 0; i < count; i++) {
                double value = element_load(e, from, (size_t)i).f;
                memcpy(to + (size_t)i * sizeof value, &value, sizeof value);
        }
}

/* State lies where its next value goes, and begins with what the run is given. */
static void begin_state(const struct interp *interp, const struct interp_buffer *b,
                        struct descriptor *d, const void *from)
{
        if (interp->as_double && element_is_float(b->element) && b->element != E_F64)
                widen(b->element, from, d->data, d->extent);
        else if (d->extent && d->data != from)
                memcpy(d->data, from, (size_t)d->extent * (size_t)d->bytes);
}

/* Finds where every buffer's first element is in this run. */
static void point(struct interp *interp, const void *const *inputs, void *const *outputs)
{
        for (int n = 0; n < interp->descriptor_count; n++) {
                struct descriptor *d = &interp->descriptors[n];
                const struct interp_buffer *b =
                        n < interp->buffer_count ? &interp->buffers[n] : NULL;
                if (d->offset >= 0)
                        d->data = interp->memory ? interp->memory + d->offset : NULL;
                else if (b && b->root == n)
                        d->data = b->output >= 0
                                          ? outputs[b->output]
                                          : (unsigned char *)(uintptr_t)(b->input >= 0
                                                                                 ? inputs[b->input]
                                                                                 : b->data);
                if (b && b->root == n && b->space == SPACE_INPUT && d->offset >= 0)
                        widen(b->element, inputs[b->input], d->data, d->extent);
                if (b && b->root == n && b->space == SPACE_STATE)
                        begin_state(interp, b, d, inputs[b->input]);
        }
        for (int n = 0; n < interp->buffer_count; n++) {
                const struct interp_buffer *b = &interp->buffers[n];
                unsigned char *root = interp->descriptors[b->root].data;
                if (b->root != n)
                        interp->descriptors[n].data = b->view ? root + b->view : root;
        }
}

static void widen_constants(struct interp *interp)
{
        for (int n = 0; n < interp->buffer_count; n++) {
                const struct interp_buffer *b = &interp->buffers[n];
                const struct descriptor *d = &interp->descriptors[n];
                if (b->root == n && b->space == SPACE_CONSTANT && d->offset >= 0)
                        widen(b->element, b->data, interp->memory + d->offset,
                              d->mask ? d->extent : 1);
        }
}

/* ---- all ---- */

struct interp *interp_new_with(const struct loop_program *p, const struct interp_options *options,
                               struct diag *diag)
{
        struct interp *interp = memory_alloc(sizeof *interp);
        interp->as_double = options->as_double;
        if (!place_buffers(interp, p, options, diag) || !interp_compile(interp, p, options, diag)) {
                interp_free(interp);
                return NULL;
        }
        if (interp->memory_bytes) {
                interp->memory = aligned_alloc(MEMORY_ALIGN, interp->memory_bytes);
                if (!interp->memory)
                        memory_exhausted();
        }
        widen_constants(interp);
        for (int i = 0; i < p->extent_count; i++)
                interp->slots[interp->extents + i].i = p->extents[i].variable->high;
        return interp;
}

struct interp *interp_new(const struct loop_program *p, bool as_double, uint64_t max_bytes,
                          struct diag *diag)
{
        return interp_new_entry(p, p->at, as_double, max_bytes,
                                diag);
}

struct interp *interp_new_entry(const struct loop_program *p, int entry, bool as_double,
                                uint64_t max_bytes, struct diag *diag)
{
        const struct interp_options options = { .entry = entry,
                                                .as_double = as_double,
                                                .max_bytes = max_bytes };
        return interp_new_with(p, &options, diag);
}

void interp_free(struct interp *interp)
{
        if (!interp)
                return;
        free(interp->code);
        free(interp->slots);
        free(interp->descriptors);
        free(interp->nests);
        free(interp->buffers);
        free(interp->memory);
        free(interp);
}

void interp_set_extents(struct interp *interp, const int64_t *values)
{
        for (int i = 0; i < interp->extent_count; i++)
                interp->slots[interp->extents + i].i = values[i];
}

void interp_get_extents(const struct interp *interp, int64_t *values)
{
        for (int i = 0; i < interp->extent_count; i++)
                values[i] = interp->slots[interp->extents + i].i;
}

int interp_run(struct interp *interp, const void *const *inputs, void *const *outputs,
               uint64_t max_steps, uint64_t *steps)
{
        if (interp->memory_bytes > interp->garbage_from)
                memset(interp->memory + interp->garbage_from, GARBAGE,
                       interp->memory_bytes - interp->garbage_from);
        point(interp, inputs, outputs);
        return interp_execute(interp, max_steps, steps);
}
