/* SPDX-License-Identifier: MIT */
/* simplify: algebraic rewrites, one rule a line in simplify.def with its class:
 *
 *   E  exact to the bit, NaN, -0 and infinities included        always
 *   R  real-number equality, rounding may change                not under --exact, nor between bytes
 *   D  true on finite values of the right domain only           with --assume-finite
 *
 * Every rule gives a value of the same type that uses no operation which uses the old one.
 * Rewriting ends, because each rule does one of these, and none undoes what another did:
 *
 *   fewer     there is less work, the sum over operations that compute elements of their elements:
 *             identities, folding, joining, slices within what was joined, reductions of what was
 *             spread
 *   cheaper   there is as much work, and one operation is of i32 instead of i64, or comes later in
 *             the order  pow > div, rem, mod > reciprocal, sqrt > mul > sub > add > neg, shr, and,
 *             min, max > not  (strength reduction; mul_over_add and scales: a product of constants
 *             instead of one of values)
 *   recovered no rule takes apart again what this one builds: a variance, a softplus, a sigmoid, a
 *             sum with its maximum taken out, max and min of a bound in one order, a constant to
 *             the right of a comparison, a range instead of a loop, f32 instead of f16
 *   inward    work costs the same, and a constant is one operation nearer to the inputs
 *             (add_constants, neg_mul, mul_select, mul_clamp; dot_scaled and mul_factor move a
 *             factor that is not constant outward: it never comes back, as those rules and
 *             scale_into_dot need a constant operand, a selection or a clamp)
 *   outward   else a reshape, transpose or broadcast is one operation nearer to the outputs
 *             (transpose_broadcast, slice_broadcast, broadcast_join, reduce_transpose,
 *             reduce_reshape, concat_transposes, reshape_below), or a slice or pad nearer to the
 *             inputs: these two kinds pass each other in one direction only (past a reshape, a
 *             slice goes outward: reshape_slice)
 *
 * So the worklist empties. (The numbers of rounds, and of rewrites in a round, are bounded all the
 * same: an endless loop is a slower program, not a compiler that hangs.)
 *
 * New operations fold as they are built, so constants never pile up. */
#include "passes/simplify/simplify.h"

#include <string.h>

#include "passes/fold.h"

struct rule {
        const char *name, *algebra;
        enum opcode code;               /* The root of the pattern is this operation. */
        char class;
        rewrite_function rewrite;
};

static const struct rule rules[] = {
#define RULE(code, class, name, algebra, when) { #name, algebra, OP_##code, #class[0], rewrite_##name },
#include "passes/simplify/simplify.def"
};
static const struct rule elementwise_rules[] = {
#define ELEMENTWISE(class, name, algebra, when) { #name, algebra, OPCODE_COUNT, #class[0], rewrite_##name },
#include "passes/simplify/simplify.def"
};
typedef int (*tensor_pass)(struct function *f, struct pass_context *context);

static const struct { tensor_pass pass; const char *rule; } parts[] = {
#define PART(pass, rule) { pass_##pass, #rule },
#include "passes/simplify/simplify.def"
};
enum {
        RULE_COUNT = sizeof rules / sizeof *rules,
        ELEMENTWISE_COUNT = sizeof elementwise_rules / sizeof *elementwise_rules
};

static const struct rule *rule_number(int i)
{
        return i < RULE_COUNT ? &rules[i] : &elementwise_rules[i - RULE_COUNT];
}

/* The first rule of an operation, and the one behind its last, have these numbers; simplify.def is
 * sorted by operation. */
struct rule_range { int first, end; };

static void index_rules(struct rule_range range[OPCODE_COUNT])
{
        for (int i = 0; i < OPCODE_COUNT; i++)
                range[i] = (struct rule_range){ 0, 0 };
        for (int i = 0; i < RULE_COUNT; i++) {
                struct rule_range *r = &range[rules[i].code];
                if (r->end == 0)
                        r->first = i;
                r->end = i + 1;
        }
}

static bool is_part(const struct rule *rule, tensor_pass pass)
{
        bool found = false;
        for (size_t i = 0; i < sizeof parts / sizeof *parts && !found; i++)
                found = parts[i].pass == pass && !strcmp(parts[i].rule, rule->name);
        return found;
}

/* May the rule be applied? pass: simplify itself, or a pass that is some of its rules alone. */
static bool allowed(const struct rule *rule, tensor_pass pass, const struct pass_context *context)
{
        if ((context->rule && strcmp(context->rule, rule->name)) ||
            (pass != pass_simplify && !is_part(rule, pass)))
                return false;
        return rule->class == 'E' || (rule->class == 'R' && !context->exact) ||
               (rule->class == 'D' && context->assume_finite && !context->exact);
}

struct simplifying {
        struct pass_context *context;
        struct rule_range range[OPCODE_COUNT];
        bool all;                       /* All rules are applied, not only some. */
        bool allowed[RULE_COUNT + ELEMENTWISE_COUNT];
        int applied[RULE_COUNT + ELEMENTWISE_COUNT];
        bool endless;                   /* A region got more rewrites than rules that end can
                                         * make. */
};

/* Does what the rule does in a module with extents that a run gives: a rule that asks for such an
 * extent as a number does not apply. What it had built until then has no uses, and goes. */
static struct value *rewrite_watched(const struct rule *rule, struct builder *b, struct op *op,
                                     struct pass_context *context)
{
        struct op *const before = op->previous;
        struct value *volatile v = NULL;
        jmp_buf out;
        jmp_buf *const outer = dim_watch(&out);
        if (!setjmp(out)) {
                v = rule->rewrite(b, op, context);
        } else {
                while (op->previous != before)
                        op_erase(op->previous);
        }
        dim_watch(outer);
        return v;
}

static bool apply(const struct rule *rule, struct op *op, struct pass_context *context)
{
        struct builder b = { .m = op->region->function->module, .region = op->region, .before = op,
                             .location = op->location, .diag = context->diag,
                             .fold = fold_op, .fold_context = context };
        struct value *v = module_has_extents(b.m) ? rewrite_watched(rule, &b, op, context)
                                                  : rule->rewrite(&b, op, context);
        if (!v || v == op_result(op))
                return v && op->result_count > 1;       /* The rule has replaced other results
                                                         * itself. */
        value_replace(op_result(op), v);
        return true;
}

static bool simplify_op(struct op *op, struct simplifying *s)
{
        const struct rule_range r = s->range[op->code];
        bool exact = simplify_is_between_bytes(op);
        for (int i = r.first; i < r.end; i++)
                if (s->allowed[i] && rules[i].code == op->code &&
                    !(exact && rules[i].class == 'R') && apply(&rules[i], op, s->context)) {
                        s->applied[i]++;
                        return true;
                }
        for (int i = 0; i < ELEMENTWISE_COUNT && op_info[op->code].traits & TRAIT_ELEMENTWISE; i++)
                if (s->allowed[RULE_COUNT + i] &&
                    !(exact && elementwise_rules[i].class == 'R') &&
                    apply(&elementwise_rules[i], op, s->context)) {
                        s->applied[RULE_COUNT + i]++;
                        return true;
                }
        return false;
}

static bool is_used(const struct op *op)
{
        bool used = false;
        for (int i = 0; i < op->result_count; i++)
                used |= op->results[i].uses != NULL;
        return used;
}

/* Erases op, which has been rewritten, and what only it used, so that weights that were made anew
 * are not held until the pass ends. previous: an operation in front of it. Returns that operation,
 * or one before it if that goes, too. */
static struct op *erase_rewritten(struct op *op, struct op *previous)
{
        if (is_used(op))
                return previous;
        for (int i = 0; i < op->operand_count; i++) {
                struct value *v = op_operand(op, i);
                op_set_operand(op, i, NULL);
                struct op *source =
                        v && v->kind == VALUE_RESULT && v->op->region == op->region ? v->op : NULL;
                if (!source || is_used(source) || !(op_info[source->code].traits & TRAIT_PURE))
                        continue;
                previous = source == previous ? source->previous : previous;
                op_erase(source);
        }
        op_erase(op);
        return previous;
}

/* No program of the tests, random ones included, comes near this number. */
static int most_rewrites(const struct region *region)
{
        int count = 1000;
        for (const struct op *op = region->first; op; op = op->next)
                count += 16;
        return count;
}

static int simplify_region(struct region *region, struct simplifying *s)
{
        struct module *m = region->function->module;
        int rewrites = 0, here = 0, most = most_rewrites(region);
        for (struct op *op = region->first, *next; op && !s->endless; op = next) {
                struct op *previous = op->previous;
                if (!op_is_kernel(op))
                        for (int i = 0; i < op->region_count; i++)
                                rewrites += simplify_region(op->regions[i], s);
                bool one = op->result_count == 1 || op->code == OP_loop;
                bool done = is_used(op) && ((s->all && fold_open_splats(op, s->context)) ||
                                            (one ? simplify_op(op, s) : s->all && simplify_if(op)));
                rewrites += done;
                here += done;
                s->endless |= here > most;
                next = op->next;
                if (done) {             /* The walk looks at what the rule built, and then goes
                                         * on. */
                        previous = erase_rewritten(op, previous);
                        next = previous ? previous->next : region->first;
                        if (module_wants_sweep(m))
                                module_drop_constants(m);
                }
        }
        return rewrites;
}

static void add_notes(struct text *notes, const struct simplifying *s)
{
        for (int i = 0; i < RULE_COUNT + ELEMENTWISE_COUNT; i++)
                if (s->applied[i])
                        text_add(notes, "%s%s %d", notes->length ? ", " : "",
                                 rule_number(i)->name, s->applied[i]);
        if (s->endless)
                text_add(notes, ", without end");
}

static int simplify(struct function *f, tensor_pass pass, struct pass_context *context)
{
        struct simplifying s = { .context = context,
                                 .all = pass == pass_simplify && !context->rule };
        index_rules(s.range);
        for (int i = 0; i < RULE_COUNT + ELEMENTWISE_COUNT; i++)
                s.allowed[i] = allowed(rule_number(i), pass, context);
        /* Rules ask whether weights are constants, not whether they are made of constants. */
        int total = s.all ? fold_groups(&f->body, context) : 0;
        for (int round = 0; round < 8 && !s.endless; round++) {
                struct arena *arena = arena_new();
                context->followed = map_new(arena);
                int rewrites = simplify_region(&f->body, &s);
                context->followed = NULL;
                arena_free(arena);
                if (!rewrites)
                        break;
                total += rewrites;
                pass_dce(f, context);           /* Tests for a single use must not count dead
                                                 * operations. */
        }
        if (module_has_extents(f->module))
                fold_spread_splats(&f->body);
        if (context->notes)
                add_notes(context->notes, &s);
        return total;
}

int pass_simplify(struct function *f, struct pass_context *context)
{
        return simplify(f, pass_simplify, context);
}
int pass_fold_batch_norms(struct function *f, struct pass_context *context)
{
        return simplify(f, pass_fold_batch_norms, context);
}
int pass_remove_identities(struct function *f, struct pass_context *context)
{
        return simplify(f, pass_remove_identities, context);
}
