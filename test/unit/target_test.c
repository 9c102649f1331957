/* SPDX-License-Identifier: MIT */
/* Targets: every row of every spelling table that this processor can run, what is left to legalize, and the library on
 * vectors: compiled by gcc and clang and compared with the interpreter on special and random values. */
#include "codegen/c_spelling.h"
#include "c_harness.h"

#include "ir/loop/capability.h"
#include "passes/pass.h"
#include "test/unit/processor.h"

enum { N = 512 };                       /* elements of every buffer; a multiple of all lanes */

/* ---- values ---- */

static const double special_floats[] = {
        0.0,  -0.0,   1.0,   -1.0,  0.5,         2.5,        -2.5,       1e10,         -3e38,    1e-45, -1e-39, 127.5,
        -128.5, 65504.0, 2147483520.0, 2147483648.0, -2147483648.0, 4294967040.0, 4294967296.0, INFINITY, -INFINITY, NAN,
};
static const uint64_t special_integers[] = {
        0, 1, 2, 3, 5, 31, 32, 63, 127, 128, 255, 32768, 65535, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
};
enum {
        FLOATS = sizeof special_floats / sizeof *special_floats,
        INTEGERS = sizeof special_integers / sizeof *special_integers
};

static uint64_t drawn;
static uint32_t random_bits(void)
{
        drawn ^= drawn << 13;
        drawn ^= drawn >> 7;
        drawn ^= drawn << 17;
        return (uint32_t)(drawn >> 16);
}

/* operand `which` of 3: all pairs of special values first, then random ones, half of them of moderate size */
static union scalar value_at(enum element e, int which, int i)
{
        union scalar v = { 0 };
        int count = element_is_float(e) ? FLOATS : INTEGERS, each = which == 0 ? i % count : i / count % count;
        bool special = i < count * count && which < 2;
        if (element_is_float(e) && special) {
                v.f = special_floats[each];
        } else if (element_is_float(e)) {
                uint32_t bits = random_bits();
                float number;
                memcpy(&number, &bits, sizeof number);
                v.f = i % 2 ? number : ((int32_t)bits / 1e8);
        } else if (e == E_BOOL) {
                v.u = random_bits() >> 7 & 1;
        } else {
                v.u = special ? special_integers[each] : i % 2 ? random_bits() : random_bits() % 100;
        }
        if (flushes && e == E_F32 && fabs(v.f) < 0x1p-100)      /* the rounding errors of such, too, are denormal numbers */
                v.f = copysign(0, v.f);
        return v;
}

static const char *const texts[] = { "f32", "i32", "u32", "bool", "i8", "u8", "i16", "u16", "f16", "bf16", "f64" };
enum { TYPES = sizeof texts / sizeof *texts };

/* Inputs a_f32, b_f32, c_f32, a_i32, ... and at: subscripts in range. */
static void fill(struct ports *ports)
{
        drawn = 88172645463325252u;     /* for each table the same */
        ports->input_count = 0;
        for (int t = 0; t < TYPES; t++)
                for (int which = 0; which < 3; which++) {
                        enum element e;
                        assert_true(element_from_text(texts[t], strlen(texts[t]), &e));
                        void *data = exact(N * 8);
                        for (int i = 0; i < N; i++)
                                element_store(e, data, (size_t)i, value_at(e, which, i));
                        ports->inputs[ports->input_count++] = data;
                }
        int32_t *at = exact(N * sizeof *at);
        for (int i = 0; i < N; i++)
                at[i] = (int32_t)(random_bits() % N);
        ports->inputs[ports->input_count++] = at;
}

static void drop(struct ports *ports)
{
        for (int i = 0; i < ports->input_count; i++)
                free(ports->inputs[i]);
}

/* ---- programs: one kernel for every expression ----
 *
 * In a body stand $a $b $c for vectors of the operands, $A for a scalar, $i for subscripts, $m for a mask, # for lanes. */

struct source { struct text buffers, kernels, main; int count; };

static void add_expanded(struct text *out, const char *body, int lanes)
{
        for (const char *p = body; *p; p++) {
                if (*p == '#') {
                        text_add(out, "%d", lanes);
                } else if (*p == '$' && p[1] == 'A') {
                        text_add(out, "%%a[%%n]");
                        p++;
                } else if (*p == '$') {
                        const char *name = p[1] == 'i' ? "at" : p[1] == 'm' ? "mask" : (const char[]){ p[1], 0 };
                        if (lanes > 1)
                                text_add(out, "%%%s<%d>[%%n]", name, lanes);
                        else
                                text_add(out, "%%%s[%%n]", name);
                        p++;
                } else {
                        text_add_bytes(out, p, 1);
                }
        }
}

static void add_kernel(struct source *s, int lanes, const char *operands, const char *result, const char *body)
{
        int n = s->count++;
        text_add(&s->buffers, "buffer @o%d : %s[%d] output \"o%d\"\n", n, result, N, n);
        text_add(&s->kernels, "kernel @k%d(", n);
        for (int which = 0; which < 3; which++)
                text_add(&s->kernels, "%%%c: in %s[%d], ", 'a' + which, operands, N);
        text_add(&s->kernels,
                 "%%at: in i32[%d], %%mask: in bool[%d], %%o: inout %s[%d]) {\n  for %%n = 0 to %d step %d {\n",
                 N, N, result, N, N, lanes);
        add_expanded(&s->kernels, body, lanes);
        text_add(&s->kernels, "\n  }\n}\n");
        text_add(&s->main, "  call @k%d(@a_%s, @b_%s, @c_%s, @at, @a_bool, @o%d)\n", n, operands, operands, operands, n);
}

static void add(struct source *s, int lanes, const char *operands, const char *result, const char *expression)
{
        add_kernel(s, lanes, operands, result, arena_printf(arena, "    store %%o[%%n] = %s", expression));
}

/* twice: to run as it is, and to legalize */
static void finish(struct source *s, struct loop_program *programs[2])
{
        struct text text = { 0 };
        text_add(&text, "loop 1\nprogram \"t\" source \"\"\n");
        for (int t = 0; t < TYPES; t++)
                for (int which = 0; which < 3; which++)
                        text_add(&text, "buffer @%c_%s : %s[%d] input \"%c%s\"\n", 'a' + which, texts[t], texts[t], N,
                                 'a' + which, texts[t]);
        text_add(&text, "buffer @at : i32[%d] input \"at\"\n", N);
        text_add(&text, "%s%smain {\n%s}\n", s->buffers.data, s->kernels.data, s->main.data);
        for (int i = 0; i < 2; i++)
                programs[i] = parse(text.data);
        text_free(&text);
        text_free(&s->buffers);
        text_free(&s->kernels);
        text_free(&s->main);
}

static const struct emulator *with_length(const struct emulator *e, int bytes)
{
        struct emulator *longer = ARENA_NEW(arena, struct emulator);
        *longer = *e;
        longer->run = strstr(e->machine, "riscv") ? arena_printf(arena, "%s" EMULATED_BITS, e->run, 8 * bytes / 2)
                                                  : arena_printf(arena, "%s" EMULATED_LENGTH, e->run, bytes);
        return longer;
}

/* What the program computes as it is, C of what legalize makes of it computes, too; registers of any length are so many bytes long. */
static void check_at(struct source *s, const struct target *t, int length)
{
        static const char *const compilers[] = { "gcc -std=c99 -O2", "clang -std=gnu11 -O2" };
        struct loop_program *programs[2], *p;
        struct pass_context context = { .diag = &diag, .target = t, .library = library, .limits = limits_preset };
        struct ports ports = { .input_count = 0 };
        struct print_options options = options_for("model");
        options.target = t;
        flushes = target_flushes(t);
        finish(s, programs);
        p = programs[1];
        fill(&ports);
        assert_true(pass_legalize(p, &context) >= 0);
        assert_true(loop_verify(p, &diag));
        assert_true(pass_plan(p, &context) >= 0);
        assert_true(print_with(p, &options));
        emulator = target_runs_here(t) ? NULL : emulator_of(t);
        if (emulator && target_length(t))
                emulator = with_length(emulator, length);
        if (emulator)
                compare(programs[0], "model", &ports, arena_printf(arena, "%s -std=c99 -O2", emulator->cc));
        for (int i = 0; i < 2 && !emulator; i++)
                if (i == 0 || have("clang"))
                        compare(programs[0], "model", &ports, compilers[i]);
        drop(&ports);
}

/* every table of vectors: the targets, each with its longer vectors behind it; NULL behind the last */
static const struct target *table_at(int k)
{
        const struct target *t;
        for (int i = 0; (t = target_at(i)); i++) {
                if (!k--)
                        return t;
                if (t->wide && !k--)
                        return t->wide;
        }
        return NULL;
}

/* of registers that suffice, as check_at has it: longer vectors are of more of them */
static int registers_of(const struct target *t) { return target_vector_bytes(t->base && t->base->wide == t ? t->base : t); }

static void check(struct source *s, const struct target *t) { check_at(s, t, registers_of(t)); }

static bool mentions(const char *text, const char *row_text)
{
        const char *start = strchr(row_text, '_'), *end = strchr(row_text, '(');
        if (!start || !end || start > end)
                return true;
        return strstr(text, arena_printf(arena, "%.*s", (int)(end - start), start)) != NULL;
}

/* ---- rows ---- */

static const char *text_of(int e) { return element_info[e].text; }

static const char *operation_text(const struct c_spelling *row)
{
        const struct loop_op_info *info = &loop_op_info[row->op];
        if (info->form == FORM_INFIX)
                return arena_printf(arena, "$a %s $b", info->text);
        if (info->form == FORM_PREFIX)
                return arena_printf(arena, "%s $a", info->text);
        return arena_printf(arena, info->arity == 1 ? "%s($a)" : info->arity == 2 ? "%s($a, $b)" : "%s($a, $b, $c)",
                            info->text);
}

/* the function that a row is for: of its element, or whose result is of that alone (words that are decoded) */
static const struct loop_function *function_of(const struct c_spelling *row)
{
        const struct loop_function *f = loop_library_find(library, row->function, (enum element)row->element);
        for (const struct loop_function *g = loop_library_first(library); g && !f; g = g->next)
                if (!strcmp(g->name, row->function) && g->result.element == row->element)
                        f = g;
        assert_non_null(f);
        return f;
}

static const char *call_text(const struct c_spelling *row)
{
        const struct loop_function *f = function_of(row);
        if (!strcmp(row->function, "scale"))      /* of such alone */
                return "scale(1.0 + min(abs($a), 1.0), round(select($b < 150.0, select($b > -150.0, $b, -7.0), 9.0)))";
        if (row->scalar)
                return arena_printf(arena, "%s($a, splat<#>($A), $b)", row->function);
        if (!strcmp(row->function, "add_pair"))   /* of halves that are finite, however they add up */
                return "add_pair($a & 4227857407, $b & 4227857407, $c & 4227857407)";
        if (!strcmp(row->function, "join_pair"))
                return "join_pair($a, bits_u32($b) & 4227857407)";
        if (f->scalar_count == 3) {     /* of a multiply: a sum, and words or what else it takes */
                const enum element x = (enum element)f->scalars[1]->type.element;
                const char *as = arena_printf(arena, x == E_U32 ? "bits_%s" : "%s", text_of(x)),
                           *lane = row->lane ? arena_printf(arena, "splat<#>(lane(%s(%%b<%d>[%%n]), %d))", as, MULTIPLY_LANES, row->lane - 1)
                                             : arena_printf(arena, "%s($b)", as);
                return arena_printf(arena, "%s($a, %s, %s($c))", row->function, lane, as);
        }
        return arena_printf(arena, f->scalar_count == 1 ? "%s($a)" : "%s($a, $b)", row->function);
}

/* rows that are no expression of their own operation */
static void add_memory_row(struct source *s, const struct c_spelling *row, int lanes)
{
        const char *e = text_of(row->element), *body = NULL;
        switch (row->op) {
        case CAN_TYPE: case CAN_ZERO:
                body = row->element == E_F16 || row->element == E_BF16
                               ? "    let %v : !x# = $a\n    store %o[%n] = %v"
                               : "    var %v : !x#\n    if %n > 100 {\n      set %v = $a\n    }\n    store %o[%n] = %v";
                break;
        case LOOP_LOAD: case CAN_STORE: body = "    store %o[%n] = $a"; break;
        case CAN_LOAD_MASKED: body = "    store %o[%n] = %a<#>[%n, $m]"; break;
        case CAN_STORE_MASKED: body = "    store %o[%n] = $a mask $m"; break;
        case CAN_GATHER: body = "    store %o[%n] = %a<#>[index($i)]"; break;
        case CAN_GATHER_MASKED: body = "    store %o[%n] = %a<#>[index($i), $m]"; break;
        case CAN_SCATTER: body = "    store %o[index($i)] = $a"; break;
        case CAN_SCATTER_MASKED: body = "    store %o[index($i)] = $a mask $m"; break;
        case LOOP_SPLAT: body = "    store %o[%n] = splat<#>($A)"; break;
        case LOOP_RAMP:
                body = element_is_float((enum element)row->element) ? "    store %o[%n] = ramp<#>($A, -1.5) + ramp<#>(-0.5, 0.1)"
                                                                    : "    store %o[%n] = ramp<#>($A, 2) + ramp<#>(5:!, 3)";
                break;
        default: fail_msg("row %d has no test", row->op);
        }
        struct text text = { 0 };
        for (const char *p = body; *p; p++)
                text_add(&text, "%.*s", *p == '!' ? (int)strlen(e) : 1, *p == '!' ? e : p);
        add_kernel(s, lanes, e, e, text.data);
        text_free(&text);
}

static void add_row(struct source *s, const struct target *t, const struct c_spelling *row)
{
        int lanes = row->lanes ? row->lanes : target_lanes(t, E_F32);
        const char *e = text_of(row->element);
        if (row->op >= CAN_TILES)     /* tested by what they are for: passes/test_tiles.py */
                return;
        if (row->op == CAN_WALK) {      /* there, beyond what an address reaches, and back */
                const char *to = text_of(row->to);
                const int far = (N - 1 - lanes) / lanes * lanes;
                assert_true(far > row->level);
                add_kernel(s, lanes, e, to,
                           arena_printf(arena,
                                        "    let %%p : index of %%a = %%n - %%n\n"
                                        "    let %%v : %sx# = %s(%%a<#>[%%p])\n"
                                        "    let %%u : %sx# = %s(%%a<#>[%%p + 3])\n"
                                        "    let %%t : %sx# = %s(%%a<#>[%%p + %d])\n"
                                        "    let %%s : %sx# = %s(%%a<#>[%%p + %d])\n"
                                        "    store %%o[%%n] = (%%v - %%u) * %%t + %%s",
                                        to, to, to, to, to, to, far, to, to, far - 5));
        } else if (row->op == CAN_PREFETCH)
                add_kernel(s, lanes, "f32", "f32",
                           arena_printf(arena, "    prefetch %%a[%%n + 64] %d\n    store %%o[%%n] = $a", row->level));
        else if (row->op == CAN_LOAD_WORDS)
                add(s, lanes, text_of(row->to), e,
                    arena_printf(arena, lanes > 1 ? "%%a<# %s of %d>[%%n / %d]" : "%%a<%s of %d>[%%n / %d]", e, row->level,
                                 row->level));
        else if (row->op == LOOP_CAST && !row->loaded)
                add_kernel(s, lanes, e, text_of(row->to),
                           arena_printf(arena, "    let %%v : %sx# = $a\n    store %%o[%%n] = %s(%%v)", e, text_of(row->to)));
        else if (row->op == LOOP_CAST)
                add(s, lanes, e, text_of(row->to), arena_printf(arena, "%s($a)", text_of(row->to)));
        else if (row->op == CAN_CAST_ROUNDED)
                add(s, lanes, e, text_of(row->to), arena_printf(arena, "%s(round($a))", text_of(row->to)));
        else if (row->op == LOOP_BITCAST)
                add(s, lanes, e, text_of(row->to), arena_printf(arena, "bits_%s($a)", text_of(row->to)));
        else if (row->op == LOOP_CALL && function_of(row)->scalar_count > 1 && function_of(row)->scalars[1]->type.lanes > 1)    /* a sum, and words that are vectors */
                add(s, lanes, text_of(function_of(row)->scalars[1]->type.element), e,
                    arena_printf(arena, "%s(%%at[%%n], %%b<%d>[%%n / 2], %%c<%d>[%%n / 4])", row->function,
                                 function_of(row)->scalars[1]->type.lanes, function_of(row)->scalars[2]->type.lanes));
        else if (row->op == LOOP_CALL)
                add(s, lanes, text_of((enum element)function_of(row)->scalars[0]->type.element), e, call_text(row));
        else if (row->op == LOOP_SELECT)
                add(s, lanes, e, e, row->element == E_BOOL ? "select($m, $b, $c)" : "select($m, $a, $b)");
        else if (row->op == LOOP_LANE && element_info[row->element].compute != row->element)     /* no more than stored */
                add(s, lanes, e, e, "splat<#>(lane($a, 2))");
        else if (row->op == LOOP_LANE)
                add(s, lanes, e, e, "splat<#>(lane($a, 2)) + splat<#>(lane($b, 0))");
        else if (row->op == LOOP_SUM_LANES || row->op == LOOP_MAX_LANES || row->op == LOOP_MIN_LANES)
                add(s, lanes, e, e, arena_printf(arena, "splat<#>(%s($a)) %s splat<#>(%s($b))", loop_op_info[row->op].text,
                                                 row->element == E_BOOL ? "^" : "+", loop_op_info[row->op].text));
        else if (row->op == CAN_TRUTHS)
                add(s, lanes, "i32", "i32",
                    "select((ramp<#>(3:i32, -1) < splat<#>(1:i32)) & (ramp<#>(0:i32, 3) >= splat<#>(9:i32)), $a, $b) + "
                    "select(splat<#>(4294967295:u32) > ramp<#>(4294967290:u32, 1), $a, "
                    "select(ramp<#>(-2:i32, 1) <= splat<#>(-2:i32), $c, select(ramp<#>(1:i32, 1) != splat<#>(3:i32), $b, $c)))");
        else if (row->op == LOOP_FMA && row->lane)
                add(s, lanes, e, e, arena_printf(arena, "fma(splat<#>(lane(%%b<%d>[%%n], %d)), $a, $c)", MULTIPLY_LANES, row->lane - 1));
        else if (row->op == LOOP_CALL && row->loaded)   /* words of bytes */
                add(s, lanes, "i8", e,
                    arena_printf(arena, "%s(%%at<#>[%%n], splat<#>(lane(%%b<%d u32 of 4>[%%n / 4], %d)), %%c<# u32 of 4>[%%n / 2])",
                                 row->function, MULTIPLY_LANES, row->lane - 1));
        else if (row->op == CAN_SATURATE && row->to)
                for (int shift = 0; shift < 32; shift += 31)
                        add(s, lanes, e, text_of(row->to), arena_printf(arena, "%s(min(max($a >> %d, -128), 127))", text_of(row->to), shift));
        else if (row->op == CAN_SATURATE)
                for (int shift = 0; shift < 32; shift += 31)
                        add(s, lanes, e, e,
                            arena_printf(arena, "min(max($a >> %d, -%lld), %lld)", shift, 1LL << (row->level - 1),
                                         (1LL << (row->level - 1)) - 1));
        else if (row->op == CAN_FMA_LESS)
                add(s, lanes, e, e, "fma($a, $b, -$c)");
        else if (row->op == CAN_FMA_FROM)
                add(s, lanes, e, e, "fma($a, -$b, $c)");
        else if (row->op == CAN_SHL_LITERAL)
                add(s, lanes, e, e, "($a << 0) + ($b << 5) + ($c << 31)");
        else if (row->op == CAN_SHR_LITERAL)
                add(s, lanes, e, e, "($a >> 0) + ($b >> 5) + ($c >> 31)");
        else if (row->scalar)
                add(s, lanes, e, e, "fma(splat<#>($A), $b, $c)");
        else if (row->op < LOOP_CAST && row->op != LOOP_SPLAT && row->op != LOOP_RAMP)
                add(s, lanes, e, loop_op_info[row->op].result == RESULT_BOOL ? "bool" : e, operation_text(row));
        else
                add_memory_row(s, row, lanes);
}

static void every_row_at(const struct target *t, int length)
{
        struct source s = { .count = 0 };
        for (const struct c_spelling *row = c_spelling(capability_first(t)); row; row = c_spelling(capability_next(t, c_capability(row))))
                add_row(&s, t, row);
        if (!s.count)                   /* tiles alone */
                return;
        check_at(&s, t, length);
        const char *c = slurp("model.c");
        for (const struct c_spelling *row = c_spelling(capability_first(t)); row; row = c_spelling(capability_next(t, c_capability(row))))
                if (row->op < CAN_TILES && !mentions(c, row->text))
                        fail_msg("%s: '%s' is not used", t->name, row->text);
}

/* registers of any length: as long as the vectors, and longer */
static void every_row(void **state)
{
        (void)state;
        const struct target *t;
        for (int k = 0; (t = table_at(k)); k++) {
                if (!t->capabilities || !runs_here(t))
                        continue;
                every_row_at(t, registers_of(t));
                if (target_length(t))
                        every_row_at(t, 4 * registers_of(t));
        }
}

/* Hardware tiles: words as wide as sums, as Loop IR has them; rows, and the bytes that say shapes,
 * hold what the multiplies want. */
static void tiles_of_tables(void **state)
{
        (void)state;
        const struct target *t;
        const struct multiply *m;
        for (int k = 0; (t = target_at(k)); k++)
                for (int i = 0; (m = multiply_at(t, i)); i++) {
                        const struct tile_shapes *shapes = target_tile_shapes(t);
                        if (!m->registers)
                                continue;
                        if (multiply_in_warps(m)) {       /* a word is what a lane loads; a printer has the instruction */
                                assert_true(target_gpu(t) && m->body);
                                const int bytes = multiply_by_warp_group(m) ? 16 * MULTIPLY_SWIZZLE : 16;
                                assert_int_equal(element_info[m->x.memory].bytes * m->channels, bytes);
                                assert_int_equal(element_info[m->w.memory].bytes * m->channels, bytes);
                                continue;
                        }
                        assert_non_null(capability_of_products(t, m->x.memory, m->w.memory));
                        assert_true(m->body && m->x.word == m->sum && m->w.word == m->sum);
                        int word = element_info[m->x.memory].bytes * m->channels;
                        assert_int_equal(element_info[m->w.memory].bytes * m->channels, word);
                        if (!shapes) {            /* each in a vector register */
                                int bytes = target_vector_bytes(t);
                                assert_int_equal(m->registers, target_vector_registers(t));
                                assert_true(m->positions * m->depth * word <= bytes && m->outputs * m->depth * word <= bytes &&
                                            m->positions * m->outputs * element_info[m->sum].bytes <= bytes);
                                continue;
                        }
                        assert_int_equal(element_info[m->sum].bytes, word);
                        assert_true(m->positions <= shapes->rows && m->depth <= shapes->rows);
                        assert_true(m->outputs * word <= shapes->row_bytes &&
                                    m->depth * word <= shapes->row_bytes);
                        assert_true(shapes->row_bytes_at + 2 * m->registers <= shapes->bytes &&
                                    shapes->rows_at + m->registers <= shapes->bytes &&
                                    shapes->bytes <= TILE_SHAPES_MAX);
                }
}

/* ---- what tables lack ---- */

static const struct { const char *operands, *result, *expression; } leftovers[] = {
        { "i32", "i32", "$a / $b" },
        { "i32", "i32", "$a % ($b + 3)" },
        { "u32", "u32", "$a / $b + $b % $a" },
        { "i32", "i32", "$a << $b" },
        { "i32", "i32", "($a >> $b) + ($a >> 40)" },
        { "u32", "u32", "($a << $b) + ($a >> $b)" },
        { "i32", "i32", "min_ordered($a, $b) * max_ordered($b, $c)" },
        { "i32", "i32", "abs($a) + max(min($a, $b), -$c)" },
        { "u32", "bool", "($a < $b) ^ ($b <= $c) | ($a > $c) & ~($a >= $c)" },
        { "bool", "bool", "min($a, $b) | max($b, $c) & (max_ordered($a, $c) == ($a != $b))" },
        { "bool", "bool", "select($a, $b, $c)" },
        { "i32", "i32", "splat<#>(lane($a, 2)) + $b" },
        { "i32", "i32", "splat<#>(sum_lanes($a)) - splat<#>(max_lanes($b) + min_lanes($c))" },
        { "u32", "u32", "splat<#>(sum_lanes($a)) - splat<#>(max_lanes($b) + min_lanes($c))" },
        { "f32", "f32", "splat<#>(sum_lanes($a)) - splat<#>(max_lanes($b))" },
        { "f32", "f32", "rem($a, $b)" },
        { "f32", "f32", "select($a < $b, $a, rem($a, $b)) + select($a < $c, rem($c, $a), $b)" },
        { "f32", "f32", "sin($a * splat<#>(3000.0)) - cos($b * splat<#>(1e20)) * tan($c * splat<#>(300.0))" },
        { "bool", "bool", "splat<#>(max_lanes($a)) ^ splat<#>(min_lanes($b)) & $c" },
        { "f32", "f32", "fma($a, $b, $c)" },
        { "f32", "f32", "max(max($a, 0.0), max(-0.0, $b)) + min(min($a, 2.5), min(-1.5, $c))" },
        { "f32", "f32", "max(max($a, nan), min(0.0, $b))" },
        { "f32", "f32", "select($a < $b, $b, $a) - select($b > $c, $b, $c)" },
        { "f32", "f32", "select($a < $b, $a, $b) - select($b > $c, $c, $b)" },
        { "f32", "f32", "ramp<#>($A, -1.5) * ramp<#>(0.1:f32, 0.3) + splat<#>(-inf)" },
        { "f32", "f32", "f32(ramp<#>(%n, 2)) + f32(u32(ramp<#>(%n, 1) - ramp<#>(3, 5)))" },
        { "f32", "f32", "select(ramp<#>(%n, 1) < splat<#>(500), %a<#>[%n + 12], $b)" },
        { "f32", "f32", "select(ramp<#>(%n, -1) <= ramp<#>(3, 2), 0.0, %a<#>[%n - 1, $a > $b])" },
        { "f32", "f32", "%a<#>[ramp<#>(%n, 2) - ramp<#>(%n / 2, 1)]" },
        { "f32", "f32", "%a<#>[splat<#>(511) - ramp<#>(%n, 1)]" },
        { "f32", "f32", "%a<#>[min(ramp<#>(%n, 3), splat<#>(511))]" },
        { "f32", "f32", "%a<#>[index($i), $a < $b]" },
        { "f32", "f32", "select(%n < 256, $a / $b, rem($a, $b))" },
        { "f32", "f32", "splat<#>(select(%n < 480, sum_lanes(%a<#>[%n + 12]), lane($b, 1) + min_lanes($c)))" },
        { "f32", "i8", "i8($a)" },   { "f32", "u8", "u8($a)" },     { "f32", "i16", "i16($a)" }, { "f32", "u16", "u16($a)" },
        { "f32", "i32", "i32($a)" }, { "f32", "u32", "u32($a)" },   { "f32", "bool", "bool($a)" },
        { "f32", "f16", "f16($a)" }, { "f32", "bf16", "bf16($a)" }, { "f16", "f32", "f32($a)" },
        { "f16", "i32", "i32($a)" }, { "bf16", "f32", "f32($a)" },  { "f16", "bool", "bool($a)" },
        { "i8", "f32", "f32($a)" },  { "u8", "f32", "f32($a)" },    { "i16", "u32", "u32($a)" }, { "u16", "f32", "f32($a)" },
        { "i8", "i32", "i32($a) * i32($b)" }, { "u8", "i8", "i8(i32($a) - i32($b))" }, { "u8", "bool", "bool($a)" },
        { "bool", "u8", "u8($a)" },  { "bool", "f32", "f32($a)" },  { "bool", "f16", "f16($a)" },
        { "i32", "f16", "f16($a)" }, { "u32", "i16", "i16($a)" },   { "i32", "bool", "bool($a)" },
        { "f64", "f64", "$a * $b + max($c, 0.5)" },
        { "f64", "f32", "f32($a) + splat<#>(f32(sum_lanes($b)))" },
        { "f32", "f64", "f64($a) / f64($b)" },
};

static const struct { const char *operands, *body; } statements[] = {
        { "f32", "    var %v : f32x# = $a\n"
                 "    set %v = splat<#>(lane(%v, 1)) + %v\n"
                 "    store %o[%n] = %v mask $a < $b" },
        { "f32", "    var %t : f32x#[2][2]\n"
                 "    for %k = 0 to 3 {\n"
                 "      set %t{1, 0} = %t{1, 0} + $a * splat<#>(%b[%n + %k])\n"
                 "      set %t{0, 1} = max(%t{1, 0}, %t{0, 0} - $c)\n"
                 "    }\n"
                 "    store %o[%n] = %t{0, 1} + %t{1, 1} * %t{0, 1}" },
        { "f64", "    var %v : f64x# = $a\n"
                 "    var %w : f64x#\n"
                 "    for %k = 0 to 2 {\n"
                 "      set %w = %v + splat<#>(lane(%v, 0))\n"
                 "      set %v = splat<#>(lane(%w, 1)) - %w\n"
                 "    }\n"
                 "    store %o[%n] = %v" },
        { "f32", "    let %p : indexx# = ramp<#>(%n / 2, 1)\n"
                 "    var %q : indexx# = %p + ramp<#>(0, 1)\n"
                 "    set %q = %q - %p + splat<#>(%n)\n"
                 "    store %o[%p + ramp<#>(%n / 2, 0)] = %a<#>[%q]" },
        { "f32", "    let %t : boolx# = $a < $b\n"
                 "    if lane(%t, 1) ^ lane($m, 0) {\n"
                 "      store %o[%n] = $a mask ~%t\n"
                 "    } else {\n"
                 "      store %o[index($i)] = $b mask %t\n"
                 "    }" },
        { "i32", "    store %o[ramp<#>(%n, 1)] = $a % $b mask $m" },
        { "i8", "    let %x : i8x16 = %a<16>[%n / 2]\n"
                "    store %o[%n] = i8(dot_i8x16(%at[%n], %x, %b<16>[%n / 4]) >> 5)" },
        { "f32", "    store %o[splat<#>(511) - ramp<#>(%n, 1)] = $a" },
        { "f32", "    for %k = 0 to index(max(min(lane(i32($a), 0), 3), 1)) {\n"
                 "      store %o[%n] = $a + splat<#>(f32(%k))\n"
                 "    }" },
};

/* Lanes of each target, on each: more and fewer than it has. */
static void leftovers_of_tables(void **state)
{
        (void)state;
        const struct target *t;
        for (int k = 0; (t = table_at(k)); k++) {
                struct source s = { .count = 0 };
                int own = target_lanes(t, E_F32), lanes = own > 1 ? own : 8;
                if ((t->base && !t->capabilities) || !runs_here(t))        /* its base's tables */
                        continue;
                for (size_t i = 0; i < sizeof leftovers / sizeof *leftovers; i++)
                        add(&s, lanes, leftovers[i].operands, leftovers[i].result, leftovers[i].expression);
                for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
                        for (int n = 4; n <= 16; n *= 2)
                                add_kernel(&s, n, statements[i].operands, statements[i].operands, statements[i].body);
                check(&s, t);
        }
}

static void branching_while(void **state)
{
        (void)state;
        struct source s = { .count = 0 };
        struct loop_program *programs[2];
        struct pass_context context = { .diag = &diag, .target = target_find("generic"), .library = library };
        add_kernel(&s, 4, "f32", "f32", "    while sum_lanes($a) > 1000.0 {\n      store %o[%n] = $a\n    }");
        finish(&s, programs);
        diag.silent = true;
        assert_int_equal(pass_legalize(programs[1], &context), -1);
        assert_int_equal(diag.code, EXIT_UNSUPPORTED);
        diag.errors = 0;
        diag.code = 0;
        diag.silent = false;
}

/* ---- the library on vectors ---- */

static bool is_instruction(const char *function, const struct target *t)
{
        for (; t; t = t->base)
                for (const struct c_spelling *row = c_spelling(capability_first(t)); row; row = c_spelling(capability_next(t, c_capability(row))))
                        if (row->function && !strcmp(row->function, function))
                                return true;
        return false;
}

/* functions that are right for some operands only, and spelled for those; weights of 8 bits that are denormal numbers on their way;
 * halves in integers, whose NaN an instruction chooses by itself (every_row has numbers) */
static bool is_partial(const struct loop_function *f, const struct target *t)
{
        return !strncmp(f->name, "scale", 5) || !strncmp(f->name, "exp_scaled", 10) ||
               (!strcmp(f->name, "add_pair") && is_instruction(f->name, t)) || (target_flushes(t) && !strncmp(f->name, "finite_f8", 9));
}

static void every_vector_function(void **state)
{
        (void)state;
        const struct target *t;
        for (int k = 0; (t = table_at(k)); k++) {
                struct source s = { .count = 0 };
                if (!t->capabilities || !runs_here(t))
                        continue;
                for (const struct loop_function *f = loop_library_first(library); f; f = f->next) {
                        static const char *const calls[] = { "%s($a)", "%s($a, $b)", "%s($a, $b, $c)" };
                        const char *e = element_info[f->scalars[0]->type.element].text;
                        bool even = element_info[f->scalars[0]->type.element].bytes == 4 && !is_partial(f, t);
                        for (int i = 1; i < f->scalar_count; i++)
                                even = even && loop_type_same(f->scalars[i]->type, f->scalars[0]->type);
                        if (even)
                                add(&s, target_lanes(t, E_F32), e, element_info[f->result.element].text,
                                    arena_printf(arena, calls[f->scalar_count - 1], f->name));
                }
                check(&s, t);
        }
}

/* what runs here stands for itself, anything else for a base that does */
static void nearest_targets(void **state)
{
        (void)state;
        const struct target *t;
        for (int k = 0; (t = target_at(k)); k++) {
                const struct target *near = target_nearest(t), *base = t;
                assert_true(target_runs_here(near));
                assert_true(near == t || !target_runs_here(t));
                while (base != near && !target_runs_here(base))
                        base = base->base;
                assert_ptr_equal(base, near);
        }
        assert_ptr_equal(target_nearest(target_find("native")), target_find("native"));
}

/* Each target has what its engine needs, and names the most able engine that it has it for. */
static void test_engines(void **state)
{
        (void)state;
        static const struct engine *const able[] = { &engine_stream, &engine_commands, &engine_grid, &engine_tile, &engine_vector, &engine_words,
                                                     &engine_scalar };
        for (int i = 0; target_at(i); i++) {
                const struct target *t = target_at(i);
                const struct engine *engine = target_engine(t);
                size_t k = 0;
                while (!able[k]->fits(t))
                        k++;
                if (engine != able[k])
                        fail_msg("target %s: engine %s, want %s", t->name, engine->name, able[k]->name);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_row),
                cmocka_unit_test(tiles_of_tables),
                cmocka_unit_test(leftovers_of_tables),
                cmocka_unit_test(branching_while),
                cmocka_unit_test(every_vector_function),
                cmocka_unit_test(nearest_targets),
                cmocka_unit_test(test_engines),
        };
        cmocka_set_test_filter(getenv("CMOCKA_FILTER"));
        return say_left_out(cmocka_run_group_tests(tests, set_up, tear_down));
}
