/* SPDX-License-Identifier: MIT */
/* Prints what decodes images: a call of a function that the program which the code is linked into
 * has, as libdnncc_image has it (runtime/dnncc_image.h). */
#include "codegen/c_writer.h"

void c_image(struct c_writer *w, const struct loop_stmt *s)
{
        if (w->dialect->fail) {
                c_fail(w, EXIT_UNSUPPORTED, "target %s decodes no images", w->target->name);
                return;
        }
        c_put(w, "if (dnncc_image_decode(&");
        c_element(w, s->source, s->b);
        c_put(w, "," C_SOFT "(size_t)");
        c_operand(w, s->c, C_UNARY);
        c_put(w, "," C_SOFT "%d," C_SOFT "&", s->code);
        c_element(w, s->buffer, s->a);
        c_put(w, "," C_SOFT "%d," C_SOFT "%d))", s->row, s->column);
        c_end(w);
        w->indent++;
        c_line(w, "return %s;", c_macro(w, "ERROR_IMAGE"));
        w->indent--;
}

static void find_image(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_IMAGE;
}

bool c_image_any(const struct c_writer *w)
{
        bool found = false;
        for (struct loop_function *f = w->p->kernels; f; f = f->next)
                if (f->kind == FUNCTION_KERNEL)
                        loop_block_walk(f->body, find_image, NULL, &found);
        return found;
}

void c_image_header(struct c_writer *w)
{
        if (!c_image_any(w))
                return;
        text_add(w->out,
                 "\n/* Decodes the file of `length` bytes into rows x columns pixels: 0 gray, 1 red "
                 "green blue, 2 blue\n"
                 " * green red. Returns 0, or another number where it is no such image. "
                 "libdnncc_image has it, or the program. */\n"
                 "#ifndef DNNCC_IMAGE_DECODE\n"
                 "#define DNNCC_IMAGE_DECODE\n"
                 "int dnncc_image_decode(const unsigned char *bytes, size_t length, int pixels,\n"
                 "                       unsigned char *image, int rows, int columns);\n"
                 "#endif\n");
}
