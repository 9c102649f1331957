/* Sums that stay in their registers.
 *
 *     acc_0_0 = _mm512_fmadd_ps(a, w_0, acc_0_0);
 *     acc_0_1 = _mm512_fmadd_ps(a, w_1, acc_0_1);
 *     KEEP(a);
 *
 * The result of an fma takes the register of one operand. gcc picks any that is not used again: at
 * the last use of a it may be a's, and then sums move from register to register and in the end to
 * memory and back (half of all loops over 14 x 2 vectors, with gcc 12). An empty assembly statement
 * that reads `a` afterwards leaves it the sum's.
 *
 *     ptrdiff_t vector = panel * 2;
 *     PIN(vector);
 *
 * A variable subscript of a kernel with sums in registers is opaque from there on: compilers would
 * read what it alone leads to (a bias) before the loops around the sums, and keep it in registers
 * that the sums need. */
#include "codegen/c_writer.h"

struct last_uses { struct map *by_variable; const struct loop_stmt *now; };

static bool adds_to_tile(const struct loop_stmt *s)
{
        return s->kind == STMT_SET && s->variable->rows;
}

static void note_use(struct loop_expr *e, void *context)
{
        struct last_uses *uses = context;
        if (e->op == LOOP_VARIABLE && e->type.lanes > 1 && e->variable->kind != VARIABLE_VAR)
                map_set(uses->by_variable, (const char *)&e->variable, sizeof e->variable,
                        (void *)(uintptr_t)uses->now);
}

static void note_nested(struct loop_stmt *s, void *context)
{
        struct loop_expr *const exprs[] = { s->a, s->b, s->c };
        for (int i = 0; i < 3; i++)
                if (exprs[i])
                        loop_expr_walk(exprs[i], note_use, context);
}

struct map *c_last_uses(struct c_writer *w, const struct loop_block *block)
{
        struct last_uses uses = { NULL, NULL };
        for (const struct loop_stmt *s = block->first; s && !uses.by_variable; s = s->next)
                if (adds_to_tile(s) && s->a->op == LOOP_FMA && w->in_kernel &&
                    target_keep(w->target))
                        uses.by_variable = map_new(w->arena);
        for (struct loop_stmt *s = block->first; s && uses.by_variable; s = s->next) {
                uses.now = s;
                note_nested(s, &uses);
                if (s->body)
                        loop_block_walk(s->body, note_nested, NULL, &uses);
                if (s->other)
                        loop_block_walk(s->other, note_nested, NULL, &uses);
        }
        return uses.by_variable;
}

struct keeping { struct c_writer *w; struct map *last; const struct loop_stmt *s; };

static void keep(struct loop_expr *e, void *context)
{
        struct keeping *k = context;
        if (e->op != LOOP_VARIABLE ||
            map_get(k->last, (const char *)&e->variable, sizeof e->variable) != k->s)
                return;
        map_set(k->last, (const char *)&e->variable, sizeof e->variable, k);          /* once */
        k->w->keeps = true;
        c_line(k->w, "KEEP(%s);", c_use(k->w, e->variable));
}

void c_keep(struct c_writer *w, struct map *last_uses, const struct loop_stmt *s)
{
        struct keeping k = { w, last_uses, s };
        if (last_uses && adds_to_tile(s))
                loop_expr_walk(s->a, keep, &k);
}

static void find_tile(struct loop_stmt *s, void *context)
{
        *(bool *)context |= s->kind == STMT_VAR && s->variable->rows;
}

void c_pin(struct c_writer *w, const struct loop_block *block, const struct loop_stmt *s)
{
        bool tile = false;
        if (s->kind != STMT_VAR || s->variable->type.element != E_INDEX || !w->in_kernel ||
            !target_keep(w->target))
                return;
        for (struct loop_stmt *before = block->first; before != s; before = before->next)
                find_tile(before, &tile);
        if (!tile)
                return;
        w->pins = true;
        c_line(w, "PIN(%s);", c_name(w, s->variable)->text);
}

void c_keep_top(struct c_writer *w, struct text *out)
{
        if (w->pins)
                text_add(out, "\n/* What is computed from a subscript stays behind this point. */\n"
                              "#if defined(__GNUC__)\n"
                              "#define PIN(index) __asm__ volatile (\"\" : \"+r\" (index))\n"
                              "#else\n"
                              "#define PIN(index) ((void)0)\n"
                              "#endif\n");
        if (!w->keeps)
                return;
        text_add(out,
                 "\n/* A vector stays in its register until here, so that gcc adds products to sums in place. */\n"
                 "#if defined(__GNUC__) && !defined(__clang__)\n"
                 "#define KEEP(vector) __asm__ volatile (\"\" : : \"%s\" (vector))\n"
                 "#else\n"
                 "#define KEEP(vector) ((void)0)\n"
                 "#endif\n",
                 target_keep(w->options->target));
}
