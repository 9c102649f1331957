/* SPDX-License-Identifier: MIT */
/* What instructions touch. */
#include "codegen/unified/unified.h"

const struct unified_rule_info unified_rules[UNIFIED_RULES] = {
#define RULE(id, text) { #id, text },
#include "codegen/unified/rules.def"
};

int64_t unified_rows(const struct unified_instruction *i)
{
        switch (i->opcode) {
        case UNIFIED_MULTIPLY_CODE: return i->rows * i->columns;
        case UNIFIED_ACTIVATE_CODE: return i->height * i->width;
        default: return 0;
        }
}

static enum unified_memory moved_memory(const struct unified_instruction *i) { return i->par ? UNIFIED_PAR : UNIFIED_UB; }

int64_t unified_moved(const struct unified_instruction *i)
{
        switch (i->opcode) {
        case UNIFIED_READ_HOST_CODE:
        case UNIFIED_WRITE_HOST_CODE: return i->count * unified_element_bytes(moved_memory(i));
        case UNIFIED_READ_WEIGHTS_CODE: return i->blocks * unified_element_bytes(UNIFIED_FIFO);
        default: return 0;
        }
}

/* ---- places ---- */

static bool within(enum unified_memory m, int64_t first, int64_t row, int64_t column, int64_t rows, int64_t columns)
{
        return first + row * (rows - 1) + column * (columns - 1) < unified_depth(m);
}

static bool is_activation_safe(const struct unified_instruction *i, enum unified_rule *broken)
{
        const bool bytes = !i->to_sums;
        *broken = UNIFIED_RULE_bounds;
        if (i->low > i->high || (bytes && (i->low < INT8_MIN || i->high > INT8_MAX)) || (i->lanes && !i->by))
                return false;
        *broken = UNIFIED_RULE_local;
        return within(UNIFIED_ACC, i->of, i->of_row, i->of_column, i->height, i->width) &&
               within(bytes ? UNIFIED_UB : UNIFIED_ACC, i->out, i->out_row, i->out_column, i->height, i->width) &&
               (!i->by || i->parameters + i->lanes < unified_depth(UNIFIED_PAR));
}

bool unified_is_safe(const struct unified_instruction *i, int64_t memory, enum unified_rule *broken)
{
        *broken = UNIFIED_RULE_empty;
        switch (i->opcode) {
        case UNIFIED_READ_HOST_CODE:
        case UNIFIED_WRITE_HOST_CODE:
        case UNIFIED_READ_WEIGHTS_CODE: {
                const bool blocks = i->opcode == UNIFIED_READ_WEIGHTS_CODE;
                const int64_t address = blocks ? i->from : i->host;
                if ((blocks ? i->blocks : i->count) < 1)
                        return false;
                *broken = UNIFIED_RULE_host;
                if (address < VTA_PAGE || address + unified_moved(i) > memory)
                        return false;
                *broken = UNIFIED_RULE_local;
                return blocks || (i->local + i->count <= unified_depth(moved_memory(i)) && !(i->opcode == UNIFIED_WRITE_HOST_CODE && i->par));
        }
        case UNIFIED_MULTIPLY_CODE:
                if (unified_rows(i) < 1)
                        return false;
                *broken = UNIFIED_RULE_local;
                return within(UNIFIED_UB, i->in, i->in_row, i->in_column, i->rows, i->columns) &&
                       within(UNIFIED_ACC, i->sum, i->sum_row, i->sum_column, i->rows, i->columns);
        case UNIFIED_ACTIVATE_CODE: return unified_rows(i) >= 1 && is_activation_safe(i, broken);
        case UNIFIED_SYNC_CODE:
                *broken = UNIFIED_RULE_sync;
                return i->unit != i->on;
        default: return true;
        }
}

/* ---- what is touched ---- */

static void visit_rows(const struct unified_visitor *v, int memory, const int64_t place[3], int64_t rows, int64_t columns, bool writes)
{
        for (int64_t y = 0; y < rows; y++)
                for (int64_t x = 0; x < columns; x++)
                        v->visit(v->context, memory, place[0] + y * place[1] + x * place[2], 1, writes);
}

void unified_visit(const struct unified_instruction *i, const struct unified_visitor *v)
{
        switch (i->opcode) {
        case UNIFIED_READ_HOST_CODE:
                v->visit(v->context, UNIFIED_HOST, i->host, unified_moved(i), false);
                v->visit(v->context, moved_memory(i), i->local, i->count, true);
                break;
        case UNIFIED_WRITE_HOST_CODE:
                v->visit(v->context, UNIFIED_UB, i->local, i->count, false);
                v->visit(v->context, UNIFIED_HOST, i->host, unified_moved(i), true);
                break;
        case UNIFIED_READ_WEIGHTS_CODE: v->visit(v->context, UNIFIED_HOST, i->from, unified_moved(i), false); break;
        case UNIFIED_MULTIPLY_CODE:
                visit_rows(v, UNIFIED_UB, (int64_t[]){ i->in, i->in_row, i->in_column }, i->rows, i->columns, false);
                if (i->add)
                        visit_rows(v, UNIFIED_ACC, (int64_t[]){ i->sum, i->sum_row, i->sum_column }, i->rows, i->columns, false);
                visit_rows(v, UNIFIED_ACC, (int64_t[]){ i->sum, i->sum_row, i->sum_column }, i->rows, i->columns, true);
                break;
        case UNIFIED_ACTIVATE_CODE:
                if (i->low < i->high) {         /* else it gives a number, and reads nothing */
                        visit_rows(v, UNIFIED_ACC, (int64_t[]){ i->of, i->of_row, i->of_column }, i->height, i->width, false);
                        if (i->by)
                                v->visit(v->context, UNIFIED_PAR, i->parameters, 1 + i->lanes, false);
                }
                visit_rows(v, i->to_sums ? UNIFIED_ACC : UNIFIED_UB, (int64_t[]){ i->out, i->out_row, i->out_column }, i->height, i->width, true);
                break;
        default: break;
        }
}
