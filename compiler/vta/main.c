/* SPDX-License-Identifier: MIT */
#include "compiler/vta/driver.h"

int main(int argc, char **argv)
{
        return (int)vta_driver_main(argc, argv);
}
