/* SPDX-License-Identifier: MIT */
/* Building Loop IR (loop.c): programs, functions, statements and expressions. loop.h includes this
 * header behind what it declares. */
#ifndef IR_LOOP_LOOP_BUILD_H
#define IR_LOOP_LOOP_BUILD_H

#include "ir/loop/loop.h"

struct loop_program *loop_program_new(struct arena *arena, const char *name,
                                      const struct loop_library *library);
/* Adds an entry with an empty main; a new program has one entry, main. */
struct loop_entry *loop_entry_add(struct loop_program *p, const char *name);
/* Reserves what no entry may be called: macros and functions of the whole file have these names. */
void loop_entry_reserve(struct names *names);
/* Adds an extent in [low, high], high > 0, whose variable has that name, made unique. */
struct loop_variable *loop_extent_add(struct loop_program *p, const char *name, const char *model,
                                      int64_t low, int64_t high);
/* Is extent i a parameter or a result of a run? All are but counted ones that are in no output's
 * shape and, behind these, extents that are state. */
bool loop_extent_is_told(const struct loop_program *p, int i);
int loop_extents_told(const struct loop_program *p);      /* Returns how many are. */
/* Is extent i, which is told, a parameter or a result of this entry? All are of the only one. */
bool loop_extent_is_of(const struct loop_program *p, int i, int entry);
/* Writes the numbers of the extents that a run of the entry at p->at is given or tells, in the
 * order of its descriptor, and returns how many they are. */
int loop_entry_extents(const struct loop_program *p, int numbers[EXTENTS_MAX]);
/* Returns how many of the extents a run gives, which stand first. */
int loop_given_extents(const struct loop_program *p);
/* Returns the number of the first extent that is state; these stand last. */
int loop_first_kept(const struct loop_program *p);
/* Returns the number of the program's extent that this variable holds; -1: it holds none. */
int loop_extent_number(const struct loop_program *p, const struct loop_variable *v);
/* Returns the next value of an extent behind a run of the entry; NULL: it stays what it is. */
static inline struct loop_expr *loop_next_extent(const struct loop_entry *entry, int extent)
{
        return entry->next ? entry->next[extent] : NULL;
}
void loop_extent_next(struct loop_program *p, int entry, int extent, struct loop_expr *next);
/* Writes the values of the extents behind a run of the entry at p->at: of those that are state. */
void loop_next_extents(const struct loop_program *p, const int64_t *values, int64_t *next);
/* Returns the extent of a port's dimension in a run with these values of the program's extents. */
int64_t loop_port_extent(const struct loop_program *p, const struct loop_buffer *port, int dim,
                         const int64_t *values);
/* Returns the extent of the program that a port's dimension of this extent tells: the only one that
 * it is made of whose value is not known, below 0, where it has one value *told for that; or
 * -1. */
int loop_port_tells(const struct loop_program *p, const struct loop_buffer *port, int dim,
                    int64_t extent, const int64_t *values, int64_t *told);
/* Returns how many elements the port has in such a run; of state, how many its memory has, in which
 * each extent is at its bound. */
int64_t loop_port_elements(const struct loop_program *p, const struct loop_buffer *port,
                           const int64_t *values);
/* Is the port one of the entry at p->at? State is of all. */
static inline bool loop_port_is_of(const struct loop_program *p, const struct loop_buffer *port)
{
        return port->space == SPACE_STATE || port->entry == p->at;
}
/* These return the entry that p->at says, and its main. */
struct loop_entry *loop_entry_at(const struct loop_program *p);
struct loop_function *loop_main(const struct loop_program *p);
/* These return the sizes of the entry that needs most. */
int64_t loop_workspace_size(const struct loop_program *p);
/* Returns whether the buffer has a place in the workspace, or in a region, when it is planned. */
static inline bool loop_is_of_all(const struct loop_buffer *root)
{
        return root->space == SPACE_CONSTANT || root->space == SPACE_STATE;
}
static inline bool loop_is_port(const struct loop_buffer *b) { return b->space <= SPACE_STATE; }
/* These return whether the buffer has a value when a run begins, or one for the caller when it
 * ends. State has both. */
static inline bool loop_is_input(const struct loop_buffer *b)
{
        return b->space == SPACE_INPUT || b->space == SPACE_STATE;
}
static inline bool loop_is_output(const struct loop_buffer *b)
{
        return b->space == SPACE_OUTPUT || b->space == SPACE_STATE;
}
static inline bool loop_is_placed(const struct loop_buffer *b)
{
        return b->space == SPACE_WORKSPACE || (b->space == SPACE_INPUT && b->is_text);
}
int64_t loop_live_peak(const struct loop_program *p);
/* State lies in one piece: a head, which is a word that says what made it and one for each extent
 * that is state, then each buffer at a multiple of STATE_ALIGN. These return the bytes of the head,
 * where a buffer begins, and the bytes of all, 0 where there is no buffer. */
enum { STATE_ALIGN = 64, STATE_WORD = 8 };
int64_t loop_state_head(const struct loop_program *p);
int64_t loop_state_offset(const struct loop_program *p, const struct loop_buffer *b);
int64_t loop_state_size(const struct loop_program *p);
/* Returns what the head says: a digest of the model, its buffers and extents that are state, and
 * the version of dnncc; never 0 (loop_digest.c). */
uint64_t loop_state_mark(const struct loop_program *p, const char *version);
/* Returns b's shape, "2 x 3", with extents that a run gives at their bounds. */
const char *loop_shape_text(struct arena *arena, const struct loop_buffer *b);
/* Adds a buffer, of the entry at p->at. */
struct loop_buffer *loop_buffer_add(struct loop_program *p, const char *name, enum element e,
                                    /* The name is made unique. */
                                    int64_t extent, enum loop_space space);
struct loop_function *loop_function_new(struct arena *arena, enum loop_function_kind kind,
                                        const char *name);
/* Returns the names of f's parameters, variables and buffers, in the arena, so that text_identifier
 * finds new ones. */
struct names *loop_names_of(struct arena *arena, const struct loop_function *f);
/* Adds a kernel, whose name is made unique. */
void loop_kernel_add(struct loop_program *p, struct loop_function *kernel);
struct loop_buffer *loop_parameter_add(struct arena *arena, struct loop_function *f,
                                       const char *name, enum element e, int64_t extent,
                                       enum loop_access access);
struct loop_variable *loop_scalar_add(struct arena *arena, struct loop_function *f,
                                      const char *name,
                                      /* The parameter is a scalar of this type. */
                                      struct loop_type type);
struct loop_block *loop_block_new(struct arena *arena);
/* Does the statement leave the program where something is wrong? */
/* Is the C function of an external kernel one of a library of ours (passes/libraries.def)? Then
 * code leaves with FAIL_LIBRARY where it fails, otherwise with FAIL_EXTERNAL. */
#define LOOP_LIBRARY_PREFIX "dnncc_"
static inline bool loop_is_of_library(const struct loop_function *f)
{
        return f->external && !strncmp(f->external, LOOP_LIBRARY_PREFIX,
                                       sizeof LOOP_LIBRARY_PREFIX - 1);
}
static inline bool loop_fails(const struct loop_stmt *s)
{
        return s->kind == STMT_FAIL || s->kind == STMT_IMAGE;
}

/* Appends a statement: its step is 1, and FOR, WHILE and IF have an empty body; the caller fills in
 * the rest. */
struct loop_stmt *loop_append(struct arena *arena, struct loop_block *block,
                              enum loop_stmt_kind kind);
struct loop_variable *loop_variable_new(struct arena *arena, const char *name,
                                        struct loop_type type, int kind);
/* Returns the type that the caller knows the buffer by, whose bits its own type may only hold. */
static inline enum element loop_buffer_element(const struct loop_buffer *b)
{
        return b->type ? b->type->element : b->element;
}
/* Returns the nodes of the model that a call computes, or NULL. */
const char *loop_call_location(const struct loop_stmt *call);
/* Sets these nodes, where the kernel was written for others; location is copied, and may be
 * NULL. */
void loop_call_locate(struct arena *arena, struct loop_stmt *call, const char *location);
/* Returns the buffer that b is a view of, through all views; *offset is in elements. */
struct loop_buffer *loop_buffer_root(struct loop_buffer *b, int64_t *offset);

struct loop_expr *loop_int(struct arena *arena, enum element e, int64_t value);
/* Makes a literal of type index. */
struct loop_expr *loop_index(struct arena *arena, int64_t value);
struct loop_expr *loop_float(struct arena *arena, enum element e, double value);
struct loop_expr *loop_literal(struct arena *arena, struct loop_type type, union scalar value);
struct loop_expr *loop_use(struct arena *arena, struct loop_variable *variable);
/* Makes any operation of loop_ops.def. Integer and index operands that are literal are computed
 * here, and x + 0, x * 1, x * 0, x / 1, min and max of equal operands, and nested sums of literals
 * simplify for index; floats are left alone. */
struct loop_expr *loop_op(struct arena *arena, enum loop_opcode op, struct loop_expr *a,
                          struct loop_expr *b, struct loop_expr *c);
/* Returns a itself when it has the type already. */
struct loop_expr *loop_cast(struct arena *arena, enum element to, struct loop_expr *a);
struct loop_expr *loop_bitcast(struct arena *arena, enum element to, struct loop_expr *a);
/* The vector that is loaded has as many lanes as the index. */
struct loop_expr *loop_load(struct arena *arena, struct loop_buffer *b, struct loop_expr *index);
struct loop_expr *loop_load_vector(struct arena *arena, struct loop_buffer *b,
                                   struct loop_expr *index, int lanes, struct loop_expr *mask);
/* Loads `lanes` words of `group` elements each, one after the other from index on; word: u32 or u64
 * (loop_words.c). */
struct loop_expr *loop_load_words(struct arena *arena, struct loop_buffer *b,
                                  struct loop_expr *index, enum element word, int group,
                                  int lanes);
/* Returns what that means, in loads of elements. */
struct loop_expr *loop_words_expand(struct arena *arena, const struct loop_expr *e);
/* Is e arithmetic or a comparison of narrow elements, or a conversion from one integer type of them
 * to another? */
bool loop_computes_narrow(const struct loop_expr *e);
/* Returns what such an operation means, by way of compute types (loop_words.c). */
struct loop_expr *loop_narrow_expand(struct arena *arena, const struct loop_expr *e);
static inline int loop_word_group(const struct loop_expr *load)
{
        return load->group ? load->group : 1;
}
/* Returns a itself for one lane. */
struct loop_expr *loop_splat(struct arena *arena, int lanes, struct loop_expr *a);
struct loop_expr *loop_ramp(struct arena *arena, int lanes, struct loop_expr *a,
                            struct loop_expr *step);
struct loop_expr *loop_tile_entry(struct arena *arena, struct loop_variable *tile, int row,
                                  int column);
/* Makes a node as it stands, without simplifying. */
struct loop_expr *loop_node(struct arena *arena, enum loop_opcode op, struct loop_type type,
                            struct loop_expr *a, struct loop_expr *b, struct loop_expr *c);
/* Makes a call. A function of scalars serves vectors, too, lane by lane: arguments and result then
 * have the same lanes. loop_call_lanes returns how many, where the first argument is `first`; 1
 * where the types are those of the function. */
struct loop_expr *loop_call(struct arena *arena, struct loop_function *f,
                            struct loop_expr *const *args);
int loop_call_lanes(const struct loop_function *f, const struct loop_expr *first);
/* Is e an integer or index literal? */
bool loop_is_int(const struct loop_expr *e, int64_t *value);
/* Is e a call of the library's round? */
bool loop_is_round(const struct loop_expr *e);
/* Is e such a call, perhaps moved by a whole number? It is a whole number itself, NaN or
 * infinite. */
bool loop_is_rounded(const struct loop_expr *e);
/* Are a and b structurally equal? */
bool loop_expr_same(const struct loop_expr *a, const struct loop_expr *b);
/* Returns whether e or a part of it is this variable. */
bool loop_mentions(const struct loop_expr *e, const struct loop_variable *v);
void loop_expr_walk(struct loop_expr *e, void (*visit)(struct loop_expr *e, void *context),
                    void *context);
void loop_block_walk(struct loop_block *b, void (*stmt)(struct loop_stmt *s, void *context),
                     /* The walk visits statements in order, nested ones too. */
                     void (*expr)(struct loop_expr *e, void *context), void *context);
/* Walks the body of each entry's main in the same way. */
void loop_walk_mains(const struct loop_program *p, void (*stmt)(struct loop_stmt *s, void *context),
                     void (*expr)(struct loop_expr *e, void *context), void *context);

/* Is s a statement on sums in hardware tiles, other than TILES? */
static inline bool loop_is_of_tiles(const struct loop_stmt *s)
{
        return s->kind >= STMT_MULTIPLY && s->kind <= STMT_GIVE;
}
/* Returns the sums that a MULTIPLY multiplies; NULL: it reads a buffer. */
static inline struct loop_variable *loop_multiplied(const struct loop_stmt *s)
{
        return s->kind == STMT_MULTIPLY && !s->buffer ? s->a->variable : NULL;
}
/* Returns the element type of what a MULTIPLY multiplies by w. */
static inline enum element loop_multiplied_element(const struct loop_stmt *s)
{
        return s->buffer ? s->buffer->element : s->weights->element;
}
/* Returns such a statement in statements on vectors, with `sums` for its variable as f32x16, and x
 * likewise for what it multiplies, or NULL (loop_tiles.c). */
struct loop_block *loop_tiles_expand(struct arena *arena, const struct loop_stmt *s,
                                     struct loop_variable *sums, struct loop_variable *x);

/* Builds a formula of ops.def or reducers.def with its variables x, y, z replaced: literals take
 * the type of args[0]; calls resolve in the library. Returns NULL after an error (a formula that
 * does not parse is a bug in dnncc). */
struct loop_expr *loop_formula(struct arena *arena, const struct loop_library *library,
                               const char *formula, struct loop_expr *const *args, int count,
                               struct diag *diag);

#endif
