/* SPDX-License-Identifier: MIT */
#include "codegen/machines/launch_moves.h"

#include "base/memory.h"
#include "base/size.h"
#include "codegen/machines/machine_program.h"
#include "ir/loop/loop.h"

void launch_moves_begin(struct launch_moves *m, const struct loop_function *stream,
                        struct machine_measure *measure, int64_t align, int64_t unit,
                        struct arena *arena)
{
        *m = (struct launch_moves){ .stream = stream,
                                    .measure = measure,
                                    .end = PROGRAM_PAGE,
                                    .unit = unit,
                                    .addresses =
                                            arena_array(arena, (size_t)stream->buffer_count + 1,
                                                        sizeof *m->addresses) };
        for (int k = 0; k < stream->buffer_count; k++) {
                const struct loop_buffer *b = stream->buffers[k];
                m->addresses[k] = m->end;
                m->end = round_up(m->end + b->extent * element_info[b->element].bytes + 1, align);
        }
        for (int k = 0; k < 2; k++)
                m->moved[k] = arena_array(arena, (size_t)(m->end / unit) + 1, sizeof *m->moved[k]);
}

const struct loop_buffer *launch_moves_parameter(const struct launch_moves *m, int64_t address)
{
        const struct loop_buffer *found = NULL;
        for (int k = 0; k < m->stream->buffer_count; k++)
                if (m->addresses[k] <= address)
                        found = m->stream->buffers[k];
        return address < m->end ? found : NULL;
}

void launch_moves_add(struct launch_moves *m, int part, int memory, int64_t from, int64_t bytes,
                      bool writes)
{
        struct machine_part *const parts[] = { &m->measure->parts[part - 1], &m->measure->whole };
        for (int64_t u = from / m->unit; u < (from + bytes) / m->unit; u++) {
                int *last = &m->moved[writes][u];
                /* Of a unit that another part moved before, only this part's least grows. */
                const int begin = *last == part ? 2 : 0, end = *last ? 1 : 2;
                for (int k = begin; k < end; k++)
                        *(writes ? &parts[k]->least_stored : &parts[k]->least[memory]) += m->unit;
                *last = part;
        }
}

void launch_moves_use(const struct launch_moves *m, int part, int memory, int64_t bytes)
{
        int64_t *const used[] = { &m->measure->parts[part - 1].used[memory],
                                  &m->measure->whole.used[memory] };
        for (int k = 0; k < 2; k++)
                *used[k] = bytes > *used[k] ? bytes : *used[k];
}
