/* SPDX-License-Identifier: MIT */
/* Type rules: what every operation may be given, and what type its results have. Hostile text
 * arrives here, so every operand and attribute is checked: first against the row (op_infer), then
 * by the rule. This file holds what rules share, and the element-wise and structural rules;
 * type_moves.c and type_reductions.c hold the others. */
#include "ir/tensor/type_rules.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages ---- */

bool rule_fail(const struct op *op, struct diag *diag, const char *format, ...)
{
        struct arena *arena = arena_new();
        va_list list;
        va_start(list, format);
        const char *message = arena_vprintf(arena, format, list);
        va_end(list);
        const char *name = op_info[op->code].name;
        if (op->location)
                diag_error(diag, EXIT_INVALID,
                           "node '" DIAG_NODE("%s") "' (" DIAG_OPERATOR("%s") "): %s", op->location,
                           name, message);
        else
                diag_error(diag, EXIT_INVALID, "%s: %s", name, message);
        arena_free(arena);
        return false;
}

const char *rule_type(struct module *m, const struct type *t)
{
        return type_text(m->arena, m, t);
}

const char *rule_dim(struct module *m, dim_t d)
{
        return dim_text(m->arena, m, d);
}

/* ---- results ---- */

bool rule_result(struct module *m, struct op *op, int result, const struct type *inferred,
                 struct diag *diag)
{
        const struct type *given = op->results[result].type;
        if (given && given != inferred)
                return rule_fail(op, diag, "result is %s, want %s", rule_type(m, given),
                                 rule_type(m, inferred));
        op->results[result].type = inferred;
        return true;
}

bool rule_shape(struct module *m, struct op *op, enum element e, int rank, const dim_t *dims,
                struct diag *diag)
{
        if (rank > RANK_MAX)
                return rule_fail(op, diag, "result has %d dimensions, at most %d are possible",
                                 rank, RANK_MAX);
        return rule_result(m, op, 0, type_tensor(m, e, rank, dims), diag);
}

const struct type *rule_given(struct module *m, struct op *op, int e, int rank, struct diag *diag)
{
        const struct type *t = op->results[0].type;
        if (!t)
                rule_fail(op, diag, "the result's type must be given");
        else if (t->kind != TYPE_TENSOR || !element_is_stored(t->element) ||
                 (e >= 0 && (int)t->element != e))
                rule_fail(op, diag, "result is %s, want a tensor of %s", rule_type(m, t),
                          e >= 0 ? element_info[e].text : "stored elements");
        else if (rank >= 0 && t->rank != rank)
                rule_fail(op, diag, "result is %s, want %d dimensions", rule_type(m, t), rank);
        else
                return t;
        return NULL;
}

/* ---- attributes and SHAPE operands ---- */

bool rule_axis(const struct op *op, int64_t axis, int rank, const char *name, struct diag *diag)
{
        if (axis < 0 || axis >= rank)
                return rule_fail(op, diag, "%s is %lld, want 0 to %d", name, (long long)axis,
                                 rank - 1);
        return true;
}

static struct attr *attr_named(struct op *op, const char *name, const struct attr_info **info)
{
        for (int i = 0; i < op_info[op->code].attr_count; i++) {
                *info = &op_info[op->code].attrs[i];
                if (!strcmp((*info)->name, name))
                        return &op->attrs[i];
        }
        assert(!"no such attribute");
        abort();
}

const int64_t *rule_ints(struct module *m, struct op *op, const char *name, int count,
                         int64_t least, int64_t most, struct diag *diag)
{
        const struct attr_info *info;
        struct attr *a = attr_named(op, name, &info);
        if (!a->count) {
                a->ints = arena_array(m->arena, (size_t)count, sizeof *a->ints);
                a->count = count;
                for (int i = 0; i < count; i++)
                        a->ints[i] = info->preset;
        }
        if (a->count != count) {
                rule_fail(op, diag, "%s has %d values, want %d", name, a->count, count);
                return NULL;
        }
        for (int i = 0; i < count; i++)
                if (a->ints[i] < least || a->ints[i] > most) {
                        rule_fail(op, diag, "%s holds %lld, want %lld to %lld", name,
                                  (long long)a->ints[i], (long long)least, (long long)most);
                        return NULL;
                }
        return a->ints ? a->ints : arena_alloc(m->arena, sizeof *a->ints);
}

const int64_t *rule_ints_of_all(struct module *m, struct op *op, const char *name, int count,
                                int64_t least, int64_t most, struct diag *diag)
{
        const struct attr_info *info;
        struct attr *a = attr_named(op, name, &info);
        if (a->count == 1 && count > 1) {
                const int64_t one = a->ints[0];
                a->ints = arena_array(m->arena, (size_t)count, sizeof *a->ints);
                a->count = count;
                for (int i = 0; i < count; i++)
                        a->ints[i] = one;
        }
        return rule_ints(m, op, name, count, least, most, diag);
}

bool rule_distinct(const struct op *op, const char *name, const int64_t *ints, int count, int limit,
                   struct diag *diag)
{
        uint32_t seen = 0;
        for (int i = 0; i < count; i++) {
                if (!rule_axis(op, ints[i], limit, name, diag))
                        return false;
                if (seen >> ints[i] & 1)
                        return rule_fail(op, diag, "%s names dimension %lld twice", name,
                                         (long long)ints[i]);
                seen |= UINT32_C(1) << ints[i];
        }
        return true;
}

bool rule_operand_ints(const struct op *op, int operand, int length, int64_t *ints, bool *known,
                       struct diag *diag)
{
        const struct value *v = op_operand(op, operand);
        int count = 0;
        *known = false;
        if (!dim_is(v->type->dims[0], length))
                return rule_fail(
                        op, diag, "%s has %lld values, want %d",
                        op_info[op->code].operands[operand].name,
                        (long long)(dim_is_static(v->type->dims[0]) ? type_extent(v->type, 0) : -1),
                        length);
        *known = value_ints(v, ints, length, &count);
        return true;
}

bool rule_combines(const struct op *op, enum element e, bool any, struct diag *diag)
{
        return element_is_float(e) || element_is_integer(e) || (any && e == E_BOOL) ||
               rule_fail(op, diag, "cannot combine elements of type %s", element_info[e].text);
}

bool rule_accumulator(const struct op *op, enum element operand, bool any, enum element *e,
                      struct diag *diag)
{
        int64_t accumulator = op_int(op, "accumulator");
        bool number = operand != E_BOOL;
        if (!rule_combines(op, operand, any, diag))
                return false;
        *e = operand;
        if (accumulator == E_COMPUTE)
                return true;
        *e = (enum element)accumulator;
        if (!number || element_info[*e].compute != *e || *e == E_BOOL || *e == E_INDEX ||
            (element_is_float(operand) && !element_is_float(*e)))
                return rule_fail(op, diag, "accumulator is %s, want a type that %s is computed in",
                                 element_info[*e].text, element_info[operand].text);
        return true;
}

/* ---- the row: operands, attributes, regions ---- */

static enum operand_kind operand_kind(const struct op_info *info, int i)
{
        if (info->formula)
                return OPERAND_TENSOR;
        return info->operands[i < info->operand_count ? i : info->operand_count - 1].kind;
}

static bool check_operand(struct module *m, const struct op *op, int i, struct diag *diag)
{
        const struct op_info *info = &op_info[op->code];
        enum operand_kind kind = operand_kind(info, i);
        const char *name =
                info->operands[i < info->operand_count ? i : info->operand_count - 1].name;
        const struct value *v = op_operand(op, i);
        if (!v)
                return kind == OPERAND_OPTIONAL ||
                       rule_fail(op, diag, "operand %s is missing", name);
        const struct type *t = v->type;
        if (!type_is_sound(m, t))
                return rule_fail(op, diag, "operand %s is %s: too large", name, rule_type(m, t));
        if (info->traits & TRAIT_TERMINATOR)
                return true;
        if (t->kind != TYPE_TENSOR || !element_is_stored(t->element))
                return rule_fail(op, diag, "operand %s is %s, want a tensor of stored elements",
                                 name, rule_type(m, t));
        if (kind == OPERAND_SHAPE && (t->element != E_I64 || t->rank != 1))
                return rule_fail(op, diag, "operand %s is %s, want a list of i64", name,
                                 rule_type(m, t));
        return true;
}

static bool check_operands(struct module *m, const struct op *op, struct diag *diag)
{
        const struct op_info *info = &op_info[op->code];
        int want = info->operand_count;
        enum operand_kind last = want ? operand_kind(info, want - 1) : OPERAND_TENSOR;
        bool variadic = last == OPERAND_VARIADIC || last == OPERAND_ANY_NUMBER;
        want -= last == OPERAND_ANY_NUMBER;
        if (variadic ? op->operand_count < want : op->operand_count != want)
                return rule_fail(op, diag, "has %d operands, want %s%d", op->operand_count,
                                 variadic ? "at least " : "", want);
        for (int i = 0; i < op->operand_count; i++)
                if (!check_operand(m, op, i, diag))
                        return false;
        return true;
}

static bool check_attrs(const struct op *op, struct diag *diag)
{
        const struct op_info *info = &op_info[op->code];
        for (int i = 0; i < info->attr_count; i++) {
                const struct attr_info *a = &info->attrs[i];
                int64_t value = op->attrs[i].i, names = 0;
                while (a->kind == ATTR_ENUM && a->names[names])
                        names++;
                if (a->kind == ATTR_ENUM && (value < 0 || value >= names))
                        return rule_fail(op, diag, "%s is number %lld of %lld", a->name,
                                         (long long)value, (long long)names);
                if (a->kind == ATTR_ELEMENT && value != a->preset &&
                    (value < 0 || value >= ELEMENT_COUNT ||
                     !element_is_stored((enum element)value)))
                        return rule_fail(op, diag, "%s is not an element type that can be stored",
                                         a->name);
                if (a->kind == ATTR_TEXT && !op->attrs[i].text)
                        return rule_fail(op, diag, "%s is missing", a->name);
                if (a->kind == ATTR_TEXT && !text_is_identifier(op->attrs[i].text))
                        return rule_fail(op, diag, "%s is no C identifier of at most %d characters",
                                         a->name, TEXT_IDENTIFIER_MAX);
        }
        return true;
}

static bool check_regions(const struct op *op, struct diag *diag)
{
        const struct op_info *info = &op_info[op->code];
        if (op->region_count != info->region_count)
                return rule_fail(op, diag, "has %d regions, want %d", op->region_count,
                                 info->region_count);
        if (!info->region_count && op->result_count != info->result_count)
                return rule_fail(op, diag, "has %d results, want %d", op->result_count,
                                 info->result_count);
        return true;
}

bool op_infer(struct module *m, struct op *op, struct diag *diag)
{
        if (!check_operands(m, op, diag) || !check_attrs(op, diag) || !check_regions(op, diag) ||
            !op_info[op->code].type_rule(m, op, diag))
                return false;
        for (int i = 0; i < op->result_count; i++)
                if (!type_is_sound(m, op->results[i].type))
                        return rule_fail(op, diag, "result is %s: too large",
                                         rule_type(m, op->results[i].type));
        return true;
}

/* ---- element-wise ---- */

static bool domain_holds(enum domain domain, enum element e)
{
        bool integer = element_is_integer(e), real = element_is_float(e), boolean = e == E_BOOL;
        switch (domain) {
        case DOMAIN_NUMBER: return integer || real;
        case DOMAIN_FLOAT: return real;
        case DOMAIN_INTEGER: return integer;
        case DOMAIN_LOGIC: return integer || boolean;
        case DOMAIN_ANY: break;
        }
        return integer || real || boolean;
}

static bool equal_operands(struct module *m, struct op *op, int first, struct diag *diag)
{
        static const char *const domains[] = { [DOMAIN_NUMBER] = "numbers",
                                               [DOMAIN_FLOAT] = "floats",
                                               [DOMAIN_INTEGER] = "integers",
                                               [DOMAIN_LOGIC] = "integers or bool",
                                               [DOMAIN_ANY] = "numbers or bool" };
        const struct op_info *info = &op_info[op->code];
        const struct type *t = operand_type(op, first);
        if (!domain_holds(info->domain, t->element))
                return rule_fail(op, diag, "operand %s is %s, want %s", info->operands[first].name,
                                 rule_type(m, t), domains[info->domain]);
        for (int i = first + 1; i < op->operand_count; i++)
                if (operand_type(op, i) != t)
                        return rule_fail(op, diag,
                                         "operands %s and %s are %s and %s, want equal types",
                                         info->operands[first].name, info->operands[i].name,
                                         rule_type(m, t), rule_type(m, operand_type(op, i)));
        return true;
}

bool type_elementwise(struct module *m, struct op *op, struct diag *diag)
{
        return equal_operands(m, op, 0, diag) && rule_result(m, op, 0, operand_type(op, 0), diag);
}

bool type_compare(struct module *m, struct op *op, struct diag *diag)
{
        return equal_operands(m, op, 0, diag) &&
               rule_result(m, op, 0, type_with_element(m, operand_type(op, 0), E_BOOL), diag);
}

bool type_select(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *c = operand_type(op, 0), *x = operand_type(op, 1);
        if (!equal_operands(m, op, 1, diag))
                return false;
        if (c->element != E_BOOL || !type_same_dims(c, x))
                return rule_fail(op, diag, "operand c is %s, want %s", rule_type(m, c),
                                 rule_type(m, type_with_element(m, x, E_BOOL)));
        return rule_result(m, op, 0, x, diag);
}

bool type_cast(struct module *m, struct op *op, struct diag *diag)
{
        enum element to = (enum element)op_int(op, "to"), from = operand_type(op, 0)->element;
        bool decodes = element_code(from) && to == E_F32;
        if (!decodes && (element_storage(to) != to || element_storage(from) != from))
                return rule_fail(op, diag, "from %s to %s: there is only bitcast",
                                 element_info[from].text, element_info[to].text);
        return rule_result(m, op, 0, type_with_element(m, operand_type(op, 0), to), diag);
}

bool type_requantize(struct module *m, struct op *op, struct diag *diag)
{
        enum { SHIFT_MAX = 63 };
        const struct type *x = operand_type(op, 0);
        enum element to = (enum element)op_int(op, "to");
        int64_t shift = op_int(op, "shift");
        if (!element_is_integer(to) || element_info[to].bytes > 2)
                return rule_fail(op, diag, "to is %s, want integers of 8 or 16 bits",
                                 element_info[to].text);
        if (shift < 1 || shift > SHIFT_MAX)
                return rule_fail(op, diag, "shift is %lld, want 1 to %d", (long long)shift,
                                 SHIFT_MAX);
        if (op_int(op, "low") > op_int(op, "high"))
                return rule_fail(op, diag, "low is %lld and high is %lld",
                                 (long long)op_int(op, "low"), (long long)op_int(op, "high"));
        for (int i = 0; i < op->operand_count; i++) {
                const bool wide = i == 2 && operand_type(op, i)->element != E_I32;
                const struct type *want = type_with_element(m, x, wide ? E_I64 : E_I32);
                if (operand_type(op, i) != want)
                        return rule_fail(op, diag, "operand %s is %s, want %s",
                                         op_info[op->code].operands[i].name,
                                         rule_type(m, operand_type(op, i)), rule_type(m, want));
        }
        return rule_result(m, op, 0, type_with_element(m, x, to), diag);
}

bool type_rescale(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0);
        const enum element to = (enum element)op_int(op, "to");
        const int64_t zero = op_int(op, "zero"), low = op_int(op, "low"),
                      high = op_int(op, "high");
        if (!element_is_integer(to) || element_info[to].bytes > 4)
                return rule_fail(op, diag, "to is %s, want integers of 8 to 32 bits",
                                 element_info[to].text);
        if (low > high || low < INT32_MIN || high > UINT32_MAX || zero < INT32_MIN ||
            zero > INT32_MAX)
                return rule_fail(op, diag,
                                 "zero is %lld, low is %lld and high is %lld, want 32 bits",
                                 (long long)zero, (long long)low, (long long)high);
        if (x->element != E_I32)
                return rule_fail(op, diag, "operand x is %s, want integers of i32",
                                 rule_type(m, x));
        return equal_operands(m, op, 0, diag) &&
               rule_result(m, op, 0, type_with_element(m, x, to), diag);
}

bool type_bitcast(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0);
        enum element to = (enum element)op_int(op, "to");
        if (element_info[to].bytes != element_info[x->element].bytes)
                return rule_fail(op, diag, "%s and %s differ in size",
                                 element_info[x->element].text, element_info[to].text);
        return rule_result(m, op, 0, type_with_element(m, x, to), diag);
}

/* ---- structure ---- */

bool type_yield(struct module *m, struct op *op, struct diag *diag)
{
        (void)m, (void)op, (void)diag;  /* The region's owner checks what it may yield. */
        return true;
}

/* Returns the region's yield; NULL while the region is being filled. */
static const struct op *region_yield(const struct region *region)
{
        return region && region->last && region->last->code == OP_yield ? region->last : NULL;
}

static bool results_from_yield(struct module *m, struct op *op, const struct op *yield,
                               struct diag *diag)
{
        if (yield->operand_count != op->result_count)
                return rule_fail(op, diag, "a region yields %d values, want %d",
                                 yield->operand_count, op->result_count);
        for (int i = 0; i < op->result_count; i++)
                if (!rule_result(m, op, i, operand_type(yield, i), diag))
                        return false;
        return true;
}

/* Takes the result types from the regions. Until every region is full, the given types stand; the
 * verifier checks them again. */
static bool results_from_regions(struct module *m, struct op *op, struct diag *diag)
{
        bool full = true;
        for (int i = 0; i < op->region_count; i++) {
                if (op->regions[i] && op->regions[i]->argument_count)
                        return rule_fail(op, diag, "its regions may have no arguments");
                const struct op *yield = region_yield(op->regions[i]);
                if (yield && !results_from_yield(m, op, yield, diag))
                        return false;
                full = full && yield;
        }
        for (int i = 0; i < op->result_count && !full; i++)
                if (!op->results[i].type)
                        return rule_fail(op, diag, "result types must be given before the regions");
        return true;
}

/* Does the region of an external function read its arguments, constants, and what it computes? */
static bool stands_alone(const struct region *region)
{
        for (const struct op *o = region->first; o; o = o->next)
                for (int i = 0; i < o->operand_count; i++) {
                        const struct value *v = op_operand(o, i);
                        if (v && !value_is_constant(v) && value_region(v) != region)
                                return false;
                }
        return true;
}

/* Checks what stands in the region of a kernel, and its results. */
static bool check_kernel(struct module *m, const struct op *op, struct diag *diag)
{
        const struct region *region = op->regions[0];
        for (const struct op *o = region ? region->first : NULL; o; o = o->next) {
                bool end = o == region->last && o->code == OP_yield;
                if (!end && (!op_info[o->code].element || o->region_count))
                        return rule_fail(op, diag, "%s may not stand inside",
                                         op_info[o->code].name);
        }
        for (int i = 0; i < op->result_count; i++) {
                const struct type *t = op->results[i].type;
                if (t->kind != TYPE_TENSOR || !element_is_stored(t->element))
                        return rule_fail(op, diag, "result is %s, want a tensor of stored elements",
                                         rule_type(m, t));
        }
        return true;
}

bool type_fusion(struct module *m, struct op *op, struct diag *diag)
{
        return results_from_regions(m, op, diag) && check_kernel(m, op, diag);
}

bool type_external(struct module *m, struct op *op, struct diag *diag)
{
        const struct region *region = op->regions[0];
        const struct op *yield = region_yield(region);
        if (!yield) {
                for (int i = 0; i < op->result_count; i++)
                        if (!op->results[i].type)
                                return rule_fail(op, diag,
                                                 "result types must be given before the region");
                return true;
        }
        if (region->argument_count != op->operand_count)
                return rule_fail(op, diag, "its region has %d arguments, want %d",
                                 region->argument_count, op->operand_count);
        for (int i = 0; i < op->operand_count; i++)
                if (region->arguments[i].type != operand_type(op, i))
                        return rule_fail(op, diag, "argument %d of its region is %s, want %s", i,
                                         rule_type(m, region->arguments[i].type),
                                         rule_type(m, operand_type(op, i)));
        if (!stands_alone(region))
                return rule_fail(op, diag, "its region reads values around it");
        return results_from_yield(m, op, yield, diag) && check_kernel(m, op, diag);
}

bool type_if(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *c = operand_type(op, 0);
        if (c != type_scalar(m, E_BOOL))
                return rule_fail(op, diag, "operand c is %s, want <bool>", rule_type(m, c));
        return results_from_regions(m, op, diag);
}
