/* SPDX-License-Identifier: MIT */
/* Reads Tensor IR back: the lines of a module, types, constants. The grammar is in
 * tensor_text.h. */
#include "ir/tensor/tensor_reader.h"

#include <string.h>

#include "base/sha256.h"

/* ---- dimensions ---- */

enum { DIM_DEPTH_MAX = 64 };

static dim_t read_dim(struct reader *r, int depth);

static const struct bound_symbol *find_bound(const struct reader *r, const char *name)
{
        for (int i = 0; i < r->bound_count; i++)
                if (!strcmp(r->bound[i].name, name))
                        return &r->bound[i];
        return NULL;
}

static dim_t read_symbol(struct reader *r, const char *name)
{
        const struct bound_symbol *bound = find_bound(r, name);
        if (bound)
                return bound->dim;
        int known = r->m->symbol_count;
        dim_t d = dim_symbol(r->m, name, 0);
        if (r->m->symbol_count != known)
                reader_fail(r, "there is no symbol %s", text_safe(r->arena, name, strlen(name)));
        return d;
}

static dim_t read_dim_pair(struct reader *r, enum dim_kind kind, int depth)
{
        dim_t a = read_dim(r, depth);
        dim_t b = !r->failed && reader_expect(r, ",") ? read_dim(r, depth) : dim_of(0);
        return !r->failed && reader_expect(r, ")") ? dim_binary(r->m, kind, a, b) : dim_of(0);
}

static dim_t read_dim_operand(struct reader *r, int depth)
{
        int64_t extent;
        if (depth > DIM_DEPTH_MAX) {
                reader_fail(r, "a dimension is nested more than %d deep", DIM_DEPTH_MAX);
                return dim_of(0);
        }
        if (reader_accept(r, "(")) {
                dim_t d = read_dim(r, depth + 1);
                return !r->failed && reader_expect(r, ")") ? d : dim_of(0);
        }
        if (reader_at(r, "\"")) {
                const char *name = reader_string(r, "a symbol");
                return name ? read_symbol(r, name) : dim_of(0);
        }
        reader_skip(r);
        if (r->p < r->end && ((*r->p >= '0' && *r->p <= '9') || *r->p == '-'))
                return reader_int(r, "a dimension", 0, INT32_MAX, &extent) ? dim_of(extent)
                                                                           : dim_of(0);
        const char *word = reader_word(r, "a dimension");
        if (!word)
                return dim_of(0);
        bool max = !strcmp(word, "max"), min = !strcmp(word, "min");
        if ((max || min) && reader_accept(r, "("))
                return read_dim_pair(r, max ? DIM_MAX : DIM_MIN, depth + 1);
        return read_symbol(r, word);
}

static dim_t read_dim(struct reader *r, int depth)
{
        static const struct { const char *mark; enum dim_kind kind; } infix[] = {
                { "+", DIM_ADD }, { "-", DIM_SUB }, { "*", DIM_MUL }, { "/", DIM_DIV }
        };
        dim_t a = read_dim_operand(r, depth);
        for (int i = 0; i < 4 && !r->failed; i++)
                if (reader_accept(r, infix[i].mark)) {
                        dim_t b = read_dim_operand(r, depth);
                        return r->failed ? dim_of(0) : dim_binary(r->m, infix[i].kind, a, b);
                }
        return a;
}

/* ---- types ---- */

bool reader_at_type(struct reader *r)
{
        return reader_at(r, "<") || reader_at_word(r, "sequence") || reader_at_word(r, "optional");
}

/* Reads "f32>" if that comes next. Returns false, without moving, if it does not. */
static bool read_element(struct reader *r, enum element *e)
{
        reader_skip(r);
        const char *start = r->p;
        size_t length = 0;
        while (r->p < r->end &&
               ((*r->p >= 'a' && *r->p <= 'z') || (*r->p >= '0' && *r->p <= '9'))) {
                r->p++;
                length++;
        }
        if (element_from_text(start, length, e) && reader_accept(r, ">"))
                return true;
        r->p = start;
        return false;
}

static const struct type *read_tensor_type(struct reader *r)
{
        dim_t dims[RANK_MAX];
        enum element e;
        int rank = 0;
        if (!reader_expect(r, "<"))
                return NULL;
        while (!read_element(r, &e)) {
                if (rank == RANK_MAX) {
                        reader_fail(r, "a type has more than %d dimensions, or no element type",
                                    RANK_MAX);
                        return NULL;
                }
                dims[rank++] = read_dim(r, 0);
                if (r->failed)
                        return NULL;
                if (!reader_accept_word(r, "x")) {
                        reader_fail(r, "a dimension is not followed by x and an element type");
                        return NULL;
                }
        }
        const struct type *t = type_tensor(r->m, e, rank, dims);
        if (e == E_INDEX || !type_is_sound(r->m, t)) {
                reader_fail(r, e == E_INDEX ? "a tensor cannot be of index" : "%s is too large",
                            type_text(r->arena, r->m, t));
                return NULL;
        }
        return t;
}

const struct type *reader_type(struct reader *r)
{
        enum type_kind wraps[NESTING_MAX];
        int depth = 0;
        for (;;) {
                bool sequence = reader_accept_word(r, "sequence");
                if (!sequence && !reader_accept_word(r, "optional"))
                        break;
                if (depth == NESTING_MAX) {
                        reader_fail(r, "a type is nested more than %d deep", NESTING_MAX);
                        return NULL;
                }
                wraps[depth++] = sequence ? TYPE_SEQUENCE : TYPE_OPTIONAL;
                if (!reader_expect(r, "("))
                        return NULL;
        }
        const struct type *t = read_tensor_type(r);
        while (t && depth) {
                t = type_wrap(r->m, wraps[--depth], t);
                if (!reader_expect(r, ")"))
                        return NULL;
        }
        return t;
}

/* ---- constants ---- */

static struct value *read_list(struct reader *r, const struct type *type, const char *name)
{
        int64_t count = type_elements(type);
        if (count > r->end - r->p) {            /* Each value takes at least one character, so no
                                                 * memory is taken for more. */
                reader_fail(r, "the list has fewer than %lld values", (long long)count);
                return NULL;
        }
        void *data = arena_alloc(r->m->arena, (size_t)type_bytes(type));
        for (int64_t i = 0; i < count; i++) {
                if (i && !reader_at(r, ",")) {
                        reader_fail(r, "the list has %lld values, want %lld", (long long)i,
                                    (long long)count);
                        return NULL;
                }
                if ((i && !reader_expect(r, ",")) ||
                    !reader_literal(r, type->element, data, (size_t)i))
                        return NULL;
        }
        if (reader_at(r, ",")) {
                reader_fail(r, "the list has more than %lld values", (long long)count);
                return NULL;
        }
        return reader_expect(r, "]") ? constant_dense(r->m, type, data, name) : NULL;
}

static const void *read_hex(struct reader *r, size_t bytes)
{
        size_t length;
        const char *hex = reader_quoted(r, "the bytes", &length);
        if (!hex)
                return NULL;
        if (length / 2 != bytes || length % 2) {
                reader_fail(r, "%zu hexadecimal digits for %zu bytes", length, bytes);
                return NULL;
        }
        void *data = arena_alloc(r->m->arena, bytes);
        if (!hex_parse(hex, bytes, data)) {
                reader_fail(r, "the bytes hold something else than digits and a to f");
                return NULL;
        }
        return data;
}

/* Finds bytes in the file. Offsets ascend and do not overlap, so that a text cannot name
 * more bytes than there are. */
static const void *read_from_file(struct reader *r, size_t bytes, int alignment)
{
        int64_t offset;
        if (!reader_int(r, "an offset", 0, INT64_MAX, &offset))
                return NULL;
        if (!r->file)
                reader_fail(r, "no data line names a file");
        else if ((size_t)offset > r->file_bytes || bytes > r->file_bytes - (size_t)offset)
                reader_fail(r, "%zu bytes from %lld on: the file has %zu", bytes, (long long)offset,
                            r->file_bytes);
        else if ((size_t)offset < r->file_used || offset % alignment)
                reader_fail(r, "offset %lld is not aligned, or inside another constant",
                            (long long)offset);
        if (r->failed)
                return NULL;
        r->file_used = (size_t)offset + bytes;
        return r->file + offset;
}

/* Reads [POSITION = LITERAL, ...] behind the first mark. */
static bool read_sparse_list(struct reader *r, enum element e, int64_t elements, int64_t *count,
                             int64_t **positions, char **values)
{
        const size_t each = (size_t)element_info[e].bytes;
        unsigned char literal[16];
        for (int64_t room = 0; !*count || reader_accept(r, ","); ++*count) {
                if (*count == room) {
                        char *grown = arena_array(r->m->arena, (size_t)(2 * room + 8), each);
                        int64_t *more =
                                arena_array(r->m->arena, (size_t)(2 * room + 8), sizeof *more);
                        if (room) {
                                memcpy(grown, *values, (size_t)room * each);
                                memcpy(more, *positions, (size_t)room * sizeof *more);
                        }
                        *values = grown;
                        *positions = more;
                        room = 2 * room + 8;
                }
                if (!reader_int(r, "a position", 0, elements - 1, *positions + *count) ||
                    !reader_expect(r, "=") || !reader_literal(r, e, literal, 0))
                        return false;
                memcpy(*values + (size_t)*count * each, literal, each);
        }
        return reader_expect(r, "]");
}

/* Reads N hex "BYTES" or N file OFFSET: N positions of 8 bytes, then their values. */
static bool read_sparse_bytes(struct reader *r, enum element e, int64_t elements, int64_t *count,
                              int64_t **positions, const void **values)
{
        int64_t bytes;
        const int each = element_info[e].bytes, position = (int)sizeof **positions;
        if (!reader_int(r, "the number of values", 1, elements - 1, count))
                return false;
        if (!int_mul(*count, each + position, &bytes))
                return reader_fail(r, "%lld values are too many", (long long)*count);
        if (reader_at(r, "..."))
                return reader_fail(r, "the values were left out of this text");
        const bool hex = reader_accept_word(r, "hex");
        if (!hex && !reader_accept_word(r, "file"))
                return reader_fail(r, "a sparse constant that has neither '[', hex nor file");
        const char *held =
                hex ? read_hex(r, (size_t)bytes) : read_from_file(r, (size_t)bytes, position);
        if (!held)
                return false;
        *positions = constant_room(r->m, (size_t)(*count * position));
        memcpy(*positions, held, (size_t)(*count * position));
        *values = held + *count * position;
        return true;
}

static struct value *read_sparse(struct reader *r, const struct type *type, const char *name)
{
        const int64_t elements = type_elements(type);
        int64_t count = 0, *positions = NULL;
        char *listed = NULL;
        const void *values = NULL;
        if (reader_accept(r, "[")
                    ? !read_sparse_list(r, type->element, elements, &count, &positions, &listed)
                    : !read_sparse_bytes(r, type->element, elements, &count, &positions, &values))
                return NULL;
        const int64_t wrong = sparse_first_wrong(positions, count, elements);
        if (wrong == count && count < elements)
                return constant_sparse(r->m, type, count, positions, listed ? listed : values,
                                       name);
        if (wrong == count)
                reader_fail(r, "a sparse constant that leaves out no element");
        else
                reader_fail(r, "position %lld, %lld of %lld elements, is %s", (long long)wrong,
                            (long long)positions[wrong], (long long)elements,
                            sparse_fault(positions, wrong, elements));
        return NULL;
}

struct value *reader_value(struct reader *r, const struct type *type, const char *name)
{
        unsigned char element[16];
        if (type->kind != TYPE_TENSOR || !element_is_stored(type->element)) {
                reader_fail(r, "a constant cannot be %s", type_text(r->arena, r->m, type));
                return NULL;
        }
        if (!type_is_static(type))
                return reader_literal(r, type->element, element, 0)
                               ? constant_splat(r->m, type, element)
                               : NULL;
        if (reader_accept(r, "["))
                return read_list(r, type, name);
        if (reader_at(r, "...")) {
                reader_fail(r, "the values were left out of this text");
                return NULL;
        }
        const bool hex = reader_accept_word(r, "hex");
        if (hex || (name && reader_accept_word(r, "file"))) {
                const size_t bytes = (size_t)type_bytes(type);
                const void *data =
                        hex ? read_hex(r, bytes)
                            : read_from_file(r, bytes, element_info[type->element].bytes);
                return data ? constant_dense(r->m, type, data, name) : NULL;
        }
        if (name && reader_accept_word(r, "sparse"))
                return read_sparse(r, type, name);
        return reader_literal(r, type->element, element, 0) ? constant_splat(r->m, type, element)
                                                            : NULL;
}

static bool read_constant(struct reader *r)
{
        const char *name = reader_name(r, '@', "the constant's name");
        if (!name || !reader_expect(r, ":"))
                return false;
        if (map_get(r->constants, name, strlen(name)))
                return reader_fail(r, "@%s is defined twice", name);
        const struct type *type = reader_type(r);
        struct value *v = type && reader_expect(r, "=") ? reader_value(r, type, name) : NULL;
        if (v)
                map_set(r->constants, name, strlen(name), v);
        return v;
}

bool reader_dim(struct reader *r, dim_t *d)
{
        *d = read_dim(r, 0);
        return !r->failed;
}

bool reader_next_extent(struct reader *r, struct function *f)
{
        const char *name =
                reader_at(r, "\"") ? reader_string(r, "a symbol") : reader_word(r, "a symbol");
        dim_t d = name ? read_symbol(r, name) : dim_of(0);
        if (r->failed || !name || !reader_expect(r, "="))
                return false;
        dim_t next = read_dim(r, 0);
        const int symbol = dim_term(r->m, d)->symbol;
        const struct symbol *s = &r->m->symbols[symbol];
        if (r->failed)
                return false;
        return (s->at_run && !s->counted && !s->least && !dim_equal(next, DIM_NONE) &&
                function_keep(f, symbol, next)) ||
               reader_fail(r, "symbol %s cannot be state",
                           text_safe(r->arena, name, strlen(name)));
}

bool reader_likely_extent(struct reader *r, struct function *f, struct function *general)
{
        const char *name =
                reader_at(r, "\"") ? reader_string(r, "a symbol") : reader_word(r, "a symbol");
        dim_t d = name ? read_symbol(r, name) : dim_of(0);
        int64_t extent;
        if (r->failed || !name || !reader_expect(r, "="))
                return false;
        const int symbol = dim_term(r->m, d)->symbol;
        const struct symbol *s = &r->m->symbols[symbol];
        if (!s->at_run || s->counted || s->kept)
                return reader_fail(r, "symbol %s is none that a run gives",
                                   text_safe(r->arena, name, strlen(name)));
        if (!reader_int(r, "an extent", s->least, s->bound, &extent))
                return false;
        function_expect(f, general, symbol, extent);
        return true;
}

/* ---- the other lines ---- */

static bool read_symbol_line(struct reader *r)
{
        int64_t least = 0, bound;
        int known = r->m->symbol_count;
        const char *name =
                reader_at(r, "\"") ? reader_string(r, "a symbol") : reader_word(r, "a symbol");
        bool at_run = name && reader_accept_word(r, "in");
        if (!name || !reader_expect(r, at_run ? "[" : "<="))
                return false;
        if (at_run &&
            (!reader_int(r, "a bound", 0, INT32_MAX, &least) || !reader_expect(r, ",")))
                return false;
        if (!reader_int(r, "a bound", least, INT32_MAX, &bound) ||
            (at_run && !reader_expect(r, "]")))
                return false;
        const struct bound_symbol *b = find_bound(r, name);
        if (b)
                return (dim_bound(r->m, b->dim) <= bound && dim_least(r->m, b->dim) >= least) ||
                       reader_fail(r, "symbol %s is %s, want %lld to %lld",
                                   text_safe(r->arena, name, strlen(name)),
                                   dim_text(r->arena, r->m, b->dim), (long long)least,
                                   (long long)bound);
        dim_symbol(r->m, name, bound);
        if (at_run && r->m->symbol_count > known) {
                dim_at_run(r->m, known, least, bound);
                r->m->symbols[known].counted = reader_accept_word(r, "counted");
        }
        return r->m->symbol_count > known || reader_fail(r, "symbol %s is declared twice",
                                                         text_safe(r->arena, name, strlen(name)));
}

static bool read_digest(struct reader *r, char digest[65])
{
        const char *hex = reader_remark(r, "a digest");
        if (hex && (strlen(hex) != 64 || strspn(hex, "0123456789abcdef") != 64))
                return reader_fail(r, "a digest has 64 hexadecimal digits");
        if (hex)
                memcpy(digest, hex, 65);
        return hex;
}

static bool is_plain_file_name(const char *name)
{
        size_t length = strlen(name);
        for (size_t i = 0; i < length; i++)
                if (name[i] == '/' || name[i] == '\\' || (unsigned char)name[i] < ' ')
                        return false;
        return length && length <= NAME_LENGTH && strcmp(name, ".") && strcmp(name, "..");
}

static bool open_file(struct reader *r, const char *name)
{
        const void *bytes = NULL;
        int errors = r->diag->errors;
        if (r->read_blob(r->blob_context, name, &bytes, &r->file_bytes)) {
                r->file = bytes ? bytes : "";
                if ((uintptr_t)r->file % 16)
                        r->file = arena_copy(r->m->arena, r->file, r->file_bytes);
                return true;
        }
        if (r->diag->errors == errors)
                return reader_fail(r, "cannot read '%s', the file of the constants",
                                   text_safe(r->arena, name, strlen(name)));
        r->failed = true;               /* The reader of files has said why. */
        return false;
}

static bool read_data_line(struct reader *r)
{
        char stated[65], found[65];
        int64_t bytes;
        const char *name = reader_string(r, "a file name");
        if (!name)
                return false;
        if (!is_plain_file_name(name))
                return reader_fail(r, "'%s' is not a plain file name",
                                   text_safe(r->arena, name, strlen(name)));
        if (!reader_accept_word(r, "sha256"))
                return reader_fail(r, "a data line has no sha256");
        if (!read_digest(r, stated))
                return false;
        if (!reader_accept_word(r, "bytes"))
                return reader_fail(r, "a data line does not say how many bytes");
        if (!reader_int(r, "a number of bytes", 0, INT64_MAX, &bytes))
                return false;
        if (r->file)
                return reader_fail(r, "a second data line");
        if (!r->read_blob)
                return reader_fail(r, "constants in a file are not possible here");
        if (!open_file(r, name))
                return false;
        if ((uint64_t)bytes != r->file_bytes)
                return reader_fail(r, "the file of the constants has %zu bytes, want %lld",
                                   r->file_bytes, (long long)bytes);
        struct sha256 sha;
        sha256_init(&sha);
        sha256_update(&sha, r->file, r->file_bytes);
        sha256_hex(&sha, found);
        return !strcmp(found, stated) ||
               reader_fail(r, "the file of the constants is another one: its sha256 is %s", found);
}

static bool read_head(struct reader *r)
{
        int64_t version;
        if (!reader_accept_word(r, "dnn"))
                return reader_fail(r, "the text does not begin with dnn and a version");
        if (!reader_int(r, "the version", 1, INT32_MAX, &version))
                return false;
        if (version > TENSOR_VERSION)
                return reader_fail(r,
                                   "this is version %lld of the format, 1 to %d are known: it is "
                                   "of a later dnncc",
                                   (long long)version, TENSOR_VERSION);
        r->version = (int)version;
        if (!reader_accept_word(r, "module"))
                return reader_fail(r, "the module line is missing");
        if (!(r->m->name = reader_remark(r, "the module's name")))
                return false;
        if (reader_accept_word(r, "source") && !read_digest(r, r->m->source))
                return false;
        if (reader_accept_word(r, "command") && !(r->m->command = reader_remark(r, "the options")))
                return false;
        if (reader_accept_word(r, "within") &&
            !(r->m->within = reader_remark(r, "what is done for --max-ram")))
                return false;
        return !reader_accept_word(r, "passes") ||
               (r->m->passes_done = reader_remark(r, "the list of passes"));
}

static bool read_module(struct reader *r)
{
        static const struct { const char *word; bool (*read)(struct reader *r); } lines[] = {
                { "const", read_constant }, { "func", reader_function }, { "symbol", read_symbol_line },
                { "data", read_data_line }
        };
        enum { LINES = sizeof lines / sizeof *lines };
        if (!reader_check_text(r) || !read_head(r))
                return false;
        for (reader_skip(r); r->p < r->end; reader_skip(r)) {
                int i = 0;
                while (i < LINES && !reader_accept_word(r, lines[i].word))
                        i++;
                if (i == LINES)
                        return reader_fail(
                                r, "a line that begins neither with data, symbol, const nor func");
                if (!lines[i].read(r))
                        return false;
        }
        return r->m->functions || reader_fail(r, "the text holds no function");
}

/* Checks packed weights of 8 bits. Kernels decode them as if none were infinite or NaN
 * (finite_f8e4m3fn of multiply.loop): passes ensure that, and texts are checked here. */
static bool check_codes(const struct op *op, struct diag *diag)
{
        const struct value *w = op->code == OP_convolve_packed ? op_operand(op, 1) : NULL;
        const struct element_code *code = w ? element_code(w->type->element) : NULL;
        const struct constant *c = code && value_is_constant(w) ? w->constant : NULL;
        const struct sparse *s = c ? c->sparse : NULL;
        if (!code ||
            (c && element_codes_finite(code, s ? s->values : c->held,
                                       s                           ? s->count
                                       : c->kind == CONSTANT_SPLAT ? 1
                                                                   : type_elements(w->type))))
                return true;
        diag_error(diag, EXIT_INVALID,
                   "convolve_packed%s%s: its weights are %s, want constants of which none is "
                   "infinite or NaN",
                   op->location ? " of " : "", op->location ? op->location : "",
                   element_info[w->type->element].text);
        return false;
}

static bool check_all_codes(const struct module *m, struct diag *diag)
{
        for (const struct function *f = m->functions; f; f = f->next)
                for (struct op *op = region_walk_all(&f->body, NULL); op;
                     op = region_walk_all(&f->body, op))
                        if (!check_codes(op, diag))
                                return false;
        return true;
}

static struct reader reader_new(struct module *m, const char *text, size_t length,
                                struct diag *diag)
{
        struct reader r = { .m = m,
                            .arena = arena_new(),
                            .p = text,
                            .end = text + length,
                            .counted = text,
                            .line = 1,
                            .diag = diag };
        r.constants = map_new(r.arena);
        r.functions = map_new(r.arena);
        return r;
}

struct function *tensor_parse_bound(struct module *m, const char *text, size_t length,
                                    const struct bound_symbol *bound, int count,
                                    struct diag *diag)
{
        const struct module before = *m;
        struct reader r = reader_new(m, text, length, diag);
        r.bound = bound;
        r.bound_count = count;
        m->functions = NULL;
        m->functions_end = &m->functions;
        struct function *functions = read_module(&r) ? m->functions : NULL;
        arena_free(r.arena);
        m->functions = before.functions;
        m->functions_end = before.functions ? before.functions_end : &m->functions;
        m->name = before.name;
        memcpy(m->source, before.source, sizeof m->source);
        m->command = before.command;
        m->within = before.within;
        m->passes_done = before.passes_done;
        return functions;
}

struct module *tensor_parse(const char *text, size_t length, blob_reader read_blob, void *context,
                            struct diag *diag)
{
        struct module *m = module_new("");
        struct reader r = reader_new(m, text, length, diag);
        r.read_blob = read_blob;
        r.blob_context = context;
        bool good =
                read_module(&r) && tensor_check(m, EXIT_INVALID, diag) && check_all_codes(m, diag);
        arena_free(r.arena);
        if (good)
                return m;
        module_free(m);
        return NULL;
}
