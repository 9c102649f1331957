/* SPDX-License-Identifier: MIT */
/* Build, compile, run: a x + y as text, once with parameters and once with constants, where nothing
 * is left to compute: the code stores 10. */
#include <dnncc_jit.h>
#include <dnncc_runtime.h>
#include <stdio.h>
#include <string.h>

static const char parameters[] =
        "dnn 3\nmodule \"axpy\"\n"
        "func @main(%a \"a\": <1 x f32>, %x \"x\": <1 x f32>, %y \"y\": <1 x f32>) -> (\"r\") {\n"
        "  %0 = mul(%a, %x) : <1 x f32>\n"
        "  %1 = add(%0, %y) : <1 x f32>\n"
        "  yield(%1)\n}\n";

static const char constants[] =
        "dnn 3\nmodule \"axpy\"\n"
        "func @main() -> (\"r\") {\n"
        "  %0 = mul(<1 x f32> 2.0, <1 x f32> 3.0) : <1 x f32>\n"
        "  %1 = add(%0, <1 x f32> 4.0) : <1 x f32>\n"
        "  yield(%1)\n}\n";

static int compile_and_run(const char *text, const void *const *inputs)
{
        struct dnncc_error error;
        struct dnncc_model *model = dnncc_load_memory(text, strlen(text), NULL, &error);
        if (!model)
                return fprintf(stderr, "%s\n", error.text), error.code;
        float r = 0;
        int code = dnncc_run(model, inputs, (void *[]){ &r }, NULL);
        printf("2 x 3 + 4 = %g: %s\n", (double)r, dnncc_error_text(code));
        dnncc_free(model);
        return code;
}

int main(void)
{
        static const float a = 2, x = 3, y = 4;
        int code = compile_and_run(parameters, (const void *[]){ &a, &x, &y });
        return code ? code : compile_and_run(constants, NULL);
}
