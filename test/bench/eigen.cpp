// SPDX-License-Identifier: MIT
// A product of matrices by Eigen, ROWS x INNER by INNER x COLUMNS, TURNS times: eigen ROWS INNER COLUMNS TURNS. See eigen.py.
#include <Eigen/Dense>
#include <cstdio>
#include <cstdlib>

int main(int count, char **arguments)
{
        if (count != 5)
                return 1;
        const int rows = std::atoi(arguments[1]), inner = std::atoi(arguments[2]), columns = std::atoi(arguments[3]), turns = std::atoi(arguments[4]);
        using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        matrix a = matrix::Constant(rows, inner, .5f), b = matrix::Constant(inner, columns, .25f), c(rows, columns);
        for (int i = 0; i < turns; i++)
                c.noalias() = a * b;
        std::printf("%g\n", (double)c(rows - 1, columns - 1));
        return c(0, 0) == .125f * (float)inner ? 0 : 1;
}
