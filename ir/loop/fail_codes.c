/* SPDX-License-Identifier: MIT */
#include "ir/loop/fail_codes.h"

const char *fail_text(int code)
{
        switch (code) {
#define FAIL(name, value, doc) case value: return doc;
#include "ir/loop/fail_codes.def"
        default:
                return "no code of this version";
        }
}
