/* SPDX-License-Identifier: MIT */
/* dnncc for machines that nobody has built: its targets are not those of codegen/targets.def, but what their names say.
 *
 *      machines MODEL --target=lanes8-registers10-fma-masks-bytes --test DIR
 *
 * lanes: of f32, 2 to 64; registers: of vectors; the rest as the machine has it: fma, masks, four products of bytes for each lane (bytes:
 * u8 by i8, signed: i8 by i8), pairs (two of bf16), narrow (four times as many lanes of bytes, and twice as many of two bytes). Such a machine spells every operation on its vectors, so that programs stay as passes made them; nothing
 * compiles what would be printed for it. All else is the driver's. */
#include <stdlib.h>
#include <string.h>

#include "codegen/targets.h"
#include "compiler/driver.h"
#include "ir/loop/capability.h"

extern const struct target target_generic;

/* ---- how a machine says operations ---- */

enum { ROWS_MAX = 8192 };

static void add_row(struct capability *rows, int *count, struct capability row)
{
        rows[(*count)++] = row;
}

static const uint32_t narrow = 1u << E_I8 | 1u << E_U8 | 1u << E_I16 | 1u << E_U16 | 1u << E_F16;

/* every operation on vectors of that many lanes of narrow elements, and of their truth values */
static void add_narrow(struct capability *rows, int *count, int lanes)
{
        const uint32_t all = narrow | 1u << E_BOOL;
        for (int e = 0; e < ELEMENT_COUNT; e++)
                for (int op = 0; op <= CAN_PREFETCH; op++) {
                        bool converts = op == LOOP_CAST || op == LOOP_BITCAST;
                        for (int to = 0; to < (converts ? ELEMENT_COUNT : 1); to++)
                                if (all >> e & 1 && op != LOOP_CALL && op != CAN_LOAD_WORDS && (!converts || all >> to & 1))
                                        add_row(rows, count, (struct capability){ .op = (uint8_t)op, .element = (uint8_t)e,
                                                                                .to = (uint8_t)to, .lanes = (uint8_t)lanes });
                }
}

/* every operation on vectors of every element */
static const struct capability *all_capabilities(int usual, bool is_narrow)
{
        static struct capability rows[ROWS_MAX + 1];
        int count = 0;
        for (int times = 2; times <= 4 && is_narrow; times *= 2)
                add_narrow(rows, &count, times * usual);
        for (int e = 0; e < ELEMENT_COUNT; e++) {
                for (int op = 0; op <= CAN_PREFETCH; op++) {
                        bool converts = op == LOOP_CAST || op == LOOP_BITCAST;
                        if (op == LOOP_CALL || op == CAN_LOAD_WORDS)
                                continue;
                        for (int to = 0; to < (converts ? ELEMENT_COUNT : 1); to++)
                                add_row(rows, &count, (struct capability){ .op = (uint8_t)op, .element = (uint8_t)e,
                                                                         .to = (uint8_t)to });
                }
                for (int group = 2; group <= WORD_GROUP_MAX; group *= 2)
                        for (int word = E_U32; word <= E_U64; word += E_U64 - E_U32)
                                for (int lanes = 0; lanes < 2; lanes++)
                                        add_row(rows, &count, (struct capability){ .op = CAN_LOAD_WORDS, .element = (uint8_t)word,
                                                                                 .to = (uint8_t)e, .level = (uint8_t)group,
                                                                                 .lanes = (uint8_t)lanes });
        }
        for (int level = 0; level < 3; level++)
                add_row(rows, &count, (struct capability){ .op = CAN_PREFETCH, .level = (uint8_t)level });
        static const struct { const char *name; enum element sum; } calls[] = { { "dot_u8_i8", E_I32 }, { "dot_i8", E_I32 }, { "dot_bf16", E_F32 } };
        for (int k = 0; k < 3; k++)
                add_row(rows, &count, (struct capability){ .op = LOOP_CALL, .element = (uint8_t)calls[k].sum, .function = calls[k].name });
        add_row(rows, &count, (struct capability){ .op = CAN_END });
        return rows;
}

/* ---- how it multiplies ---- */

#define OPERAND(m, w, p) { .memory = E_##m, .word = E_##w, .source = SOURCE_##p }

static const struct multiply *multiplies_of(int lanes, const char *name)
{
        static const char *const words[] = { "-bytes", "-signed", "-pairs", "-fma" };
        const struct multiply rows[] = {
                { .name = "made_bytes", .channels = 4, .x = OPERAND(U8, U32, BROADCAST), .w = OPERAND(I8, U32, VECTOR), .sum = E_I32,
                  .body = "dot_u8_i8", .order = ORDER_EXACT },
                { .name = "made_signed", .channels = 4, .x = OPERAND(I8, U32, BROADCAST), .w = OPERAND(I8, U32, VECTOR), .sum = E_I32,
                  .body = "dot_i8", .order = ORDER_EXACT },
                { .name = "made_pairs", .channels = 2, .x = OPERAND(BF16, U32, BROADCAST), .w = OPERAND(BF16, U32, VECTOR), .sum = E_F32,
                  .body = "dot_bf16", .order = ORDER_SEQUENCE, .flushes = true },
                { .name = "made_fma", .channels = 1, .x = OPERAND(F32, F32, BROADCAST), .w = OPERAND(F32, F32, VECTOR), .sum = E_F32,
                  .order = ORDER_SEQUENCE },
        };
        struct multiply *own = calloc(5, sizeof *own);
        int count = 0;
        for (int k = 0; own && k < 4; k++)
                if (strstr(name, words[k])) {
                        own[count] = rows[k];
                        own[count].positions = own[count].depth = own[count].instructions = 1;
                        own[count++].outputs = lanes;
                }
        return own;
}

/* ---- names ---- */

/* the number behind `word` in the name, or 0 */
static int number_of(const char *name, const char *word)
{
        const char *at = strstr(name, word);
        return at ? atoi(at + strlen(word)) : 0;
}

const struct target *target_find(const char *name)
{
        int lanes = number_of(name, "lanes"), registers = number_of(name, "registers");
        const bool is_narrow = strstr(name, "-narrow") && 4 * lanes <= UINT8_MAX;
        struct target *t = lanes > 1 && registers > 0 ? calloc(1, sizeof *t) : NULL;
        if (!t)
                return strcmp(name, "generic") ? NULL : &target_generic;
        *t = (struct target){
                .name = name, .doc = "made up", .base = &target_generic, .engine = &engine_vector, .vector_bytes = 4 * lanes, .vector_registers = registers,
                .has_fma = strstr(name, "-fma") != NULL, .has_masks = strstr(name, "-masks") != NULL, .capabilities = all_capabilities(lanes, is_narrow), .narrow = is_narrow ? narrow : 0, .capability_bytes = sizeof(struct capability),
                .multiplies = multiplies_of(lanes, name),
        };
        return t;
}

const struct target **target_list(struct arena *arena, const char *text, int *count, struct diag *diag)
{
        const struct target **list = arena_array(arena, 1, sizeof *list);
        list[0] = target_find(text);
        *count = 1;
        if (!list[0])
                diag_error(diag, EXIT_USAGE, "no machine is called '%s'", text);
        return list[0] ? list : NULL;
}

/* what passes of no machine run for */
const struct target *target_at(int number) { return number ? NULL : &target_generic; }

/* nothing here can run what would be printed but plain C */
const struct target *target_nearest(const struct target *t) { return t->base ? t->base : t; }
bool target_runs_here(const struct target *t) { return !t->base; }
/* no machine beside these whose sizes could be others */
const struct target *target_with(struct arena *arena, const struct target *t, const struct machine *machine, struct diag *diag)
{
        (void)arena, (void)machine, (void)diag;
        return t;
}
void target_help(void) { puts("lanesN-registersN[-fma][-masks][-bytes][-signed][-pairs][-narrow]"); }

int main(int argc, char **argv) { return (int)driver_main(argc, argv); }
