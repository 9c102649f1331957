/* simplify: algebraic rewrites, one rule a line in simplify.def with its class:
 *
 *   E  exact to the bit, NaN, -0 and infinities included        always
 *   R  real-number equality, rounding may change                not under --exact
 *   D  true on finite values of the right domain only           with --assume-finite
 *
 * Every rule gives a value of the same type that uses no operation which uses the old one. A rule either removes an
 * operation, or replaces one by a cheaper one, or moves a constant towards the inputs or a reshape towards the outputs, or
 * makes an operand constant; none of these can be undone by another rule, so the worklist empties. (The count of rounds is
 * bounded all the same.)
 *
 * New operations fold as they are built, so constants never pile up. */
#include "passes/pass.h"

#include "passes/simplify.h"

struct rule {
        const char *name, *algebra;
        enum opcode code;               /* the operation at the root of the pattern */
        char class;
        rewrite_function rewrite;
};

static const struct rule rules[] = {
#define RULE(code, class, name, algebra) { #name, algebra, OP_##code, #class[0], rewrite_##name },
#include "passes/simplify.def"
};
static const struct rule elementwise_rules[] = {
#define ELEMENTWISE(class, name, algebra) { #name, algebra, OPCODE_COUNT, #class[0], rewrite_##name },
#include "passes/simplify.def"
};
enum { RULE_COUNT = sizeof rules / sizeof *rules, ELEMENTWISE_COUNT = sizeof elementwise_rules / sizeof *elementwise_rules };

/* first and one past the last rule of each operation; simplify.def is sorted by operation */
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

static bool allowed(const struct rule *rule, const struct pass_context *context)
{
        return rule->class == 'E' || (rule->class == 'R' && !context->exact) ||
               (rule->class == 'D' && context->assume_finite && !context->exact);
}

static bool apply(const struct rule *rule, struct op *op, struct pass_context *context)
{
        if (!allowed(rule, context))
                return false;
        struct builder b = { .m = op->region->function->module, .region = op->region, .before = op,
                             .location = op->location, .diag = context->diag,
                             .fold = fold_op, .fold_context = context };
        struct value *v = rule->rewrite(&b, op, context);
        if (!v || v == op_result(op))
                return false;
        value_replace(op_result(op), v);
        return true;
}

static int simplify_op(struct op *op, const struct rule_range *range, struct pass_context *context)
{
        const struct rule_range r = range[op->code];
        for (int i = r.first; i < r.end; i++)
                if (rules[i].code == op->code && apply(&rules[i], op, context))
                        return 1;
        if (op_info[op->code].traits & TRAIT_ELEMENTWISE)
                for (int i = 0; i < ELEMENTWISE_COUNT; i++)
                        if (apply(&elementwise_rules[i], op, context))
                                return 1;
        return 0;
}

static int simplify_region(struct region *region, const struct rule_range *range, struct pass_context *context)
{
        int rewrites = 0;
        for (struct op *op = region->first, *next; op; op = next) {
                struct op *previous = op->previous;
                if (op->code != OP_fusion)
                        for (int i = 0; i < op->region_count; i++)
                                rewrites += simplify_region(op->regions[i], range, context);
                int done = op->result_count == 1 && op->results[0].uses ? simplify_op(op, range, context) : 0;
                rewrites += done;
                next = op->next;
                if (done) {             /* look at what the rule built, then go on */
                        next = previous ? previous->next : region->first;
                        if (!op_result(op)->uses) {
                                if (next == op)
                                        next = op->next;
                                op_erase(op);
                        }
                }
        }
        return rewrites;
}

int pass_simplify(struct function *f, struct pass_context *context)
{
        struct rule_range range[OPCODE_COUNT];
        index_rules(range);
        int total = 0;
        for (int round = 0; round < 8; round++) {
                int rewrites = simplify_region(&f->body, range, context);
                if (!rewrites)
                        break;
                total += rewrites;
                pass_dce(f, context);           /* one-use tests must not count the dead */
        }
        return total;
}
