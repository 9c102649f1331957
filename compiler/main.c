/* SPDX-License-Identifier: MIT */
#include "compiler/driver.h"

int main(int argc, char **argv)
{
        return (int)driver_main(argc, argv);
}
