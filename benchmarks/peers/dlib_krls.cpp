// dlib's kernel recursive least squares on a stream, for benchmarks/peers/tables.py.
//
//     dlib_krls FILE ROWS COLUMNS GAMMA TOLERANCE MOST
//
// FILE holds ROWS rows of COLUMNS features and a target, doubles in the order of this machine. Every row is
// forecast, then learned. Forecasts go to FILE.out; seconds of processor time and stored points to the standard output.

// Where dlib is set up for a BLAS that is not there, its own loops do as well: what calls the BLAS is left out.
#ifdef WITHOUT_BLAS
#define DLIB_MATRIx_BLAS_BINDINGS_
#endif
#include <dlib/svm.h>

#include <ctime>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    if (argc != 7) return 2;
    const std::string path = argv[1];
    const long rows = std::atol(argv[2]), columns = std::atol(argv[3]);
    const double gamma = std::atof(argv[4]), tolerance = std::atof(argv[5]);
    const unsigned long most = std::strtoul(argv[6], nullptr, 10);

    std::vector<double> data(rows * (columns + 1));
    std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(data.data()), data.size() * sizeof(double));

    using sample = dlib::matrix<double, 0, 1>;
    using kernel = dlib::radial_basis_kernel<sample>;
    dlib::krls<kernel> learner(kernel(gamma), tolerance, most);
    std::vector<double> forecasts(rows);
    sample x(columns);
    const std::clock_t start = std::clock();
    for (long i = 0; i < rows; ++i) {
        const double* row = &data[i * (columns + 1)];
        for (long k = 0; k < columns; ++k) x(k) = row[k];
        forecasts[i] = learner(x);
        learner.train(x, row[columns]);
    }
    const double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
    std::ofstream(path + ".out", std::ios::binary)
        .write(reinterpret_cast<const char*>(forecasts.data()), rows * sizeof(double));
    std::printf("%.9g %lu\n", seconds, (unsigned long)learner.dictionary_size());
    return 0;
}
