/* SPDX-License-Identifier: MIT */
/* This file reads what is compiled, a model or a text of dnncc's own, and what belongs to it:
 * constants beside it, schedules. The output depends on all that is read, which no output may
 * replace. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/store.h"
#include "compiler/driver.h"
#include "front/import.h"
#include "schedule/book.h"

static void add_dependency(void *context, const char *path)
{
        struct run *run = context;
        struct list *list = &run->dependencies;
        for (int i = 0; i < list->count; i++)
                if (!strcmp(list->items[i], path))
                        return;
        ARENA_GROW(run->arena, list->items, list->count);
        list->items[list->count++] = arena_string(run->arena, path);
        outputs_protect(run->outputs, path);
}

void run_depends(struct run *run, const char *path) { add_dependency(run, path); }

/* Reads the file with the big constants of a .dnn or .loops text, beside it. */
static bool read_blob(void *context, const char *name, const void **bytes, size_t *length)
{
        struct run *run = context;
        const char *model = run->options.model;
        if (!strcmp(model, "-") || strchr(name, '/') || !strcmp(name, "..")) {
                diag_error(&run->diag, EXIT_IO,
                           "constants in a file '%s' need a model that is a file beside it",
                           text_safe(run->arena, name, strlen(name)));
                return false;
        }
        const char *path =
                arena_printf(run->arena, "%.*s%s", (int)(path_base(model) - model), model, name);
        unsigned char *data;
        if (!file_read(path, run->context.limits.file_bytes, &data, length, &run->diag))
                return false;
        *bytes = arena_copy(run->arena, data, *length);
        free(data);
        add_dependency(run, path);
        return true;
}

static const char *skip_comments(const char *p, const char *end)
{
        while (p < end && (*p == ';' || *p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) {
                if (*p == ';')
                        while (p < end && *p != '\n')
                                p++;
                else
                        p++;
        }
        return p;
}

static bool text_begins_with(const char *p, const char *end, const char *word)
{
        size_t length = strlen(word);
        p = skip_comments(p, end);
        return (size_t)(end - p) > length && !memcmp(p, word, length) && p[length] == ' ';
}

static bool begins_with(const struct run *run, const char *word)
{
        const char *text = (const char *)run->bytes;
        return text_begins_with(text, text + run->length, word);
}

static const char of_c[] = "=c:";

/* Reads NAME=c:SYMBOL. */
static bool read_symbol(struct run *run, const char *item, struct import_symbol *symbols,
                        int *count)
{
        const char *split = strstr(item, of_c);
        const char *name = arena_printf(run->arena, "%.*s", (int)(split - item), item),
                   *symbol = split + strlen(of_c), *why = NULL;
        if (!text_is_identifier(symbol))
                why = arena_printf(run->arena,
                                   "want a C identifier of at most %d characters that is no "
                                   "reserved word, not '%s'", TEXT_IDENTIFIER_MAX,
                                   text_argument(run->arena, symbol));
        else if (!strncmp(symbol, LOOP_LIBRARY_PREFIX, strlen(LOOP_LIBRARY_PREFIX)))
                why = "want a name of your own: " LOOP_LIBRARY_PREFIX ".. are those of dnncc";
        for (int i = 0; i < *count && !why; i++)
                if (!strcmp(symbols[i].name, name) && strcmp(symbols[i].symbol, symbol) != 0)
                        why = arena_printf(run->arena,
                                           "c:%s stands for it already: want one function",
                                           symbols[i].symbol);
        if (why)
                diag_error(&run->diag, EXIT_USAGE, "--define '%s': %s",
                           text_argument(run->arena, item), why);
        symbols[(*count)++] =
                (struct import_symbol){ text_argument(run->arena, name), symbol };
        return !why;
}

/* Reads the files of --define, and what C functions stand for, once. */
static bool read_definitions(struct run *run)
{
        const struct list *paths = &run->options.defines;
        if (run->definitions || !paths->count)
                return true;
        struct import_definition *files =
                arena_array(run->arena, (size_t)paths->count, sizeof *files);
        struct import_symbol *symbols =
                arena_array(run->arena, (size_t)paths->count, sizeof *symbols);
        for (int i = 0; i < paths->count; i++) {
                struct import_definition *file = &files[run->definition_count];
                unsigned char *bytes;
                if (strstr(paths->items[i], of_c)) {
                        if (!read_symbol(run, paths->items[i], symbols, &run->symbol_count))
                                return false;
                        continue;
                }
                run->definition_count++;
                if (!file_read(paths->items[i], run->context.limits.file_bytes, &bytes,
                               &file->length, &run->diag))
                        return false;
                file->text = arena_copy(run->arena, bytes, file->length);
                free(bytes);
                file->path = text_argument(run->arena, paths->items[i]);
                file->is_text = text_begins_with(file->text, file->text + file->length, "dnn");
                add_dependency(run, paths->items[i]);
        }
        run->definitions = files;
        run->symbols = symbols;
        return true;
}

/* Returns in which format the model lies, by --format or by its content. */
static option_format_t format_of(const struct run *run)
{
        if (run->options.format != FORMAT_AUTO)
                return run->options.format;
        return begins_with(run, "loop")                    ? FORMAT_LOOPS
               : begins_with(run, "dnn")                   ? FORMAT_DNN
               : tflite_is_file(run->bytes, run->length) ? FORMAT_TFLITE
               : gguf_is_file(run->bytes, run->length)   ? FORMAT_GGUF
               : tensorflow_is_file(run->bytes, run->length) ? FORMAT_TENSORFLOW
               : caffe_is_file(run->bytes, run->length)  ? FORMAT_CAFFE
                                                           : FORMAT_ONNX;
}

static import_function *importer_of(const struct run *run)
{
        static import_function *const importers[] = {
#define MODEL_FORMAT(id, word, import) [FORMAT_##id] = import,
#include "compiler/model_formats.def"
        };
        import_function *importer = importers[format_of(run)];
        return importer ? importer : onnx_import;         /* It says that a text is no model. */
}

/* ---- options that a format has by itself (model_formats.def) ---- */

static void add_option(struct run *run, struct list *list, const char *text)
{
        struct list more = { 0 };       /* The list of the command line stays as it is. */
        for (int i = 0; i <= list->count; i++) {
                ARENA_GROW(run->arena, more.items, more.count);
                more.items[more.count++] = i < list->count ? list->items[i] : text;
        }
        *list = more;
}

static bool binds_dim(const struct options *o, const char *name)
{
        const size_t length = strlen(name);
        bool binds = false;
        for (int i = 0; i < o->dims.count; i++)
                binds |= !strncmp(o->dims.items[i], name, length) &&
                         o->dims.items[i][length] == '=';
        return binds;
}

/* Adds the entries that the file has by itself. */
static bool found_entries(struct run *run)
{
        static const struct {
                option_format_t format;
                import_entries *find;
        } finders[] = {
#define MODEL_ENTRIES(id, find) { FORMAT_##id, find },
#include "compiler/model_formats.def"
        };
        for (size_t i = 0; i < sizeof finders / sizeof *finders; i++) {
                const char **names;
                if (finders[i].format != format_of(run))
                        continue;
                const int count =
                        finders[i].find(run->bytes, run->length, run->arena, &run->diag, &names);
                for (int k = 0; k < count; k++)
                        add_option(run, &run->options.entries, names[k]);
                return count >= 0;
        }
        return true;
}

/* Adds the entries of the model's format. */
static bool preset_entries(struct run *run)
{
        static const struct { option_format_t format; const char *dim, *text; } presets[] = {
#define MODEL_ENTRY(id, dim, entry) { FORMAT_##id, dim, entry },
#include "compiler/model_formats.def"
        };
        for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
                if (presets[i].format == format_of(run) &&
                    !binds_dim(&run->options, presets[i].dim))
                        add_option(run, &run->options.entries, presets[i].text);
        return found_entries(run);
}

/* Has a function of the module an input and an output whose names begin as the option says? */
static bool has_state(const struct module *m, const char *option)
{
        const char *next = strchr(option, '=') + 1;
        bool input = false, output = false;
        for (const struct function *f = m->functions; f; f = f->next) {
                for (int i = 0; i < f->body.argument_count; i++)
                        input |= !strncmp(f->input_ports[i].name, option, strcspn(option, "*="));
                for (int i = 0; i < f->output_count; i++)
                        output |= !strncmp(f->output_ports[i].name, next, strcspn(next, "*"));
        }
        return input && output;
}

static void preset_states(struct run *run)
{
        static const struct { option_format_t format; const char *text; } presets[] = {
#define MODEL_STATE(id, state) { FORMAT_##id, state },
#include "compiler/model_formats.def"
        };
        const bool asked = run->options.states.count > 0;
        for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
                if (presets[i].format == format_of(run) && !asked &&
                    has_state(run->state.module, presets[i].text))
                        add_option(run, &run->options.states, presets[i].text);
}

/* Imports the model once, with these dimensions bound. */
static bool import_once(struct run *run, struct model_facts *facts, const char *entry,
                        const struct list *dims)
{
        const struct options *o = &run->options;
        struct import_options import = {
                .path = strcmp(o->model, "-") ? o->model : NULL, .external_dir = o->external,
                .dims = dims->items, .dim_count = dims->count,
                .inputs = o->inputs.items, .input_count = o->inputs.count,
                .outputs = o->outputs.items, .output_count = o->outputs.count,
                .keep = o->keep.items, .keep_count = o->keep.count,
                .text_bytes = o->text_bytes.items, .text_byte_count = o->text_bytes.count,
                .definitions = run->definitions, .definition_count = run->definition_count,
                .symbols = run->symbols, .symbol_count = run->symbol_count,
                .weights = run->weights, .training = run->training,
                .seed = o->seed, .channel_block = o->nchwc, .facts = facts,
                .into = entry ? run->state.module : NULL, .function = entry,
        };
        run->state.module = importer_of(run)(run->bytes, run->length, &import, &run->context,
                                             add_dependency, run);
        return run->state.module != NULL;
}

bool import_model(struct run *run, struct model_facts *facts, const char *entry)
{
        struct likely likely;
        if (!read_definitions(run) || !import_once(run, facts, entry, &run->options.dims) ||
            !likely_read(run, &likely))
                return false;
        preset_states(run);
        struct function *general = run->state.module->functions;
        while (general->next)
                general = general->next;
        for (int i = 0; i < likely.count && !facts; i++) {
                const struct likely_case *c = &likely.cases[i];
                if (!import_once(run, NULL, likely_name(run, general, c), &c->dims))
                        return false;
                likely_bind(run, general, c);
        }
        if (run->keeps_bytes)           /* Another entry is of this model, too. */
                return true;
        /* The module has copied what it needs of the bytes. */
        store_adopt(run->state.module->store, run->bytes, run->length);
        run->bytes = NULL;
        return true;
}

/* Returns the file that a model's path means: of a folder, that of a SavedModel. */
static const char *model_file(struct run *run, const char *path)
{
        struct stat st;
        return !stat(path, &st) && S_ISDIR(st.st_mode)
                       ? arena_printf(run->arena, "%s/saved_model.pb", path)
                       : path;
}

bool read_bytes(struct run *run)
{
        if (run->given || run->bytes)
                return true;
        const char *model = run->options.model = model_file(run, run->options.model);
        if (!file_read(model, run->context.limits.file_bytes, &run->bytes, &run->length,
                       &run->diag))
                return false;
        if (strcmp(model, "-"))
                add_dependency(run, model);
        return true;
}

bool read_facts(struct run *run, struct model_facts *facts)
{
        if (!read_bytes(run))
                return false;
        const option_format_t format = format_of(run);
        if (format == FORMAT_LOOPS || format == FORMAT_DNN) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--info is about models, and this is a text of dnncc: read it");
                return false;
        }
        return import_model(run, facts, NULL);
}

/* A text says in a line that a constant of any size is sparse, so its size is checked before
 * anybody asks for it. */
static bool check_sparse(struct run *run)
{
        const int64_t limit = run->context.limits.sparse_bytes;
        for (const struct constant *c = run->state.module->constants; c; c = c->next) {
                const int64_t bytes = c->sparse ? type_bytes(c->value.type) : 0;
                if (!c->sparse || !sparse_is_too_large(bytes, sparse_bytes(c->sparse), limit))
                        continue;
                diag_error(&run->diag, EXIT_INVALID,
                           "@%s: %lld bytes when it is dense, more than %lld beyond %d times what "
                           "the text holds of it; " DIAG_HINT("raise it with --limit "
                                                              "sparse_bytes=N"),
                           c->name ? c->name : "constant", (long long)bytes, (long long)limit,
                           SPARSE_FACTOR);
                return false;
        }
        return true;
}

bool read_model(struct run *run)
{
        struct options *o = &run->options;
        if (o->entries.count || o->more.count)
                return entries_read(run);
        if (!read_bytes(run))
                return false;
        const option_format_t format = format_of(run);
        if (format == FORMAT_LOOPS) {
                run->state.program_arena = arena_new();
                run->state.program =
                        loop_parse(run->state.program_arena, (const char *)run->bytes, run->length,
                                   read_blob, run, run->context.library, &run->diag);
                return run->state.program != NULL;
        }
        if (format == FORMAT_DNN) {
                run->state.module = tensor_parse((const char *)run->bytes, run->length, read_blob,
                                                 run, &run->diag);
                return run->state.module && check_sparse(run) &&
                       bind_symbols(run->state.module, o, run->arena, &run->diag);
        }
        if (!preset_entries(run))
                return false;
        return o->entries.count ? entries_read(run) : import_model(run, NULL, NULL);
}

bool read_schedules(struct run *run)
{
        const char *path = run->options.schedule;
        unsigned char *bytes;
        size_t length;
        if (!path || run->options.tune)
                return true;
        if (!file_read(path, run->context.limits.file_bytes, &bytes, &length, &run->diag))
                return false;
        const char *text = arena_copy(run->arena, bytes, length);
        free(bytes);
        add_dependency(run, path);
        const char *subject = run->diag.subject;
        run->diag.subject = text_argument(run->arena, path);
        run->context.book = schedule_book_read(run->arena, text, length, &run->diag);
        run->diag.subject = subject;
        return run->context.book != NULL;
}
