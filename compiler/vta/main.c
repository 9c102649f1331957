/* SPDX-License-Identifier: MIT */
#include "compiler/vta/vta_command.h"

int main(int argc, char **argv)
{
        return (int)vta_driver_main(argc, argv);
}
