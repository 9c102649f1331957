#include "base/size.h"

#include <string.h>

bool size_elements(const int64_t *dims, int rank, int64_t *count)
{
        int64_t product = 1, guard = 1;
        for (int i = 0; i < rank; i++) {
                if (dims[i] < 0 || dims[i] > INT32_MAX)
                        return false;
                if (!int_mul(guard, dims[i] ? dims[i] : 1, &guard) || guard > INT64_C(1) << 62)
                        return false;
                product *= dims[i];
        }
        *count = product;
        return true;
}

bool int_parse(const char *text, int64_t *value)
{
        bool negative = *text == '-';
        const char *p = text + negative;
        int64_t v = 0;
        if (!*p)
                return false;
        for (; *p; p++) {
                if (*p < '0' || *p > '9')
                        return false;
                /* negative all the way: INT64_MIN fits */
                if (!int_mul(v, 10, &v) || !int_sub(v, *p - '0', &v))
                        return false;
        }
        if (!negative && v == INT64_MIN)
                return false;
        *value = negative ? v : -v;
        return true;
}

bool size_parse(const char *text, uint64_t *bytes)
{
        char digits[32];
        size_t length = strlen(text), unit = 0;
        static const char units[] = "KMGT";
        if (!length || length >= sizeof digits)
                return false;
        memcpy(digits, text, length + 1);
        const char *found = strchr(units, digits[length - 1]);
        if (found && digits[length - 1]) {
                unit = 10 * (size_t)(found - units + 1);
                digits[length - 1] = 0;
        }
        int64_t value;
        if (!int_parse(digits, &value) || value < 0 || value > INT64_MAX >> unit)
                return false;
        *bytes = (uint64_t)value << unit;
        return true;
}
