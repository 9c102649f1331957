/* SPDX-License-Identifier: MIT */
/* Runs generated models by the executor: link it with their objects and with a table of them (test/support/cuda.py writes both).
 *
 *     host EXECUTIONS [NAME IN_DIR OUT_DIR]...
 *
 * EXECUTIONS is a list such as 0,4 (executor.h). Each model runs in a process of its own, in every execution: prepared, its weights loaded,
 * run on a stream, its status asked for; those backwards by a graph that is captured and launched twice. Memory lies between guards,
 * ends where a page does in the first execution and begins there in the next, and is NaN. All executions must give the same bits. IN_DIR/0.bin, ...
 * are read and OUT_DIR/0.bin, ... written, as test/host.c does.
 *
 * Where the environment has EXECUTOR_CUT_OFF, sums of products are cut off as tensor cores cut them (sums.h).
 *
 * One line for each model: NAME ok, or NAME and what was found. After it what was counted. Exit: 0, 1 when anything was found. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "host.h"

typedef std::vector<unsigned char> bytes;

[[noreturn]] static void fail(const std::string &what)
{
        fprintf(stderr, "%s\n", what.c_str());
        exit(1);
}
static void must(cudaError_t error, const char *what)
{
        if (error)
                fail(std::string(what) + ": " + cudaGetErrorName(error));
}
static void must_be_0(int code, const std::string &what)
{
        if (code)
                fail(what + " returned " + std::to_string(code));
}

static bytes read_file(const std::string &path, size_t size)
{
        bytes data(size);
        FILE *file = fopen(path.c_str(), "rb");
        if (!file || (size && fread(data.data(), 1, size, file) != size) || getc(file) != EOF)
                fail("cannot read " + std::to_string(size) + " bytes of " + path);
        fclose(file);
        return data;
}
static void write_file(const std::string &path, const bytes &data)
{
        FILE *file = fopen(path.c_str(), "wb");
        if (!file || (!data.empty() && fwrite(data.data(), 1, data.size(), file) != data.size()) || fclose(file))
                fail("cannot write " + path);
}

/* of an input or output: as its type asks for */
static size_t align_of(const struct dnncc_tensor_1 *t)
{
        switch (t->type) {
        case 7: case 11: case 13: return 8;
        case 1: case 6: case 12: return 4;
        case 4: case 5: case 10: case 16: return 2;
        default: return 1;
        }
}
static std::vector<bytes> run_once(const struct executor_model *model, const std::vector<bytes> &inputs, bool at_end, bool graphed)
{
        const struct dnncc_model_1 *d = model->describe();
        std::vector<void *> pointers;
        cudaStream_t stream;
        must(cudaStreamCreate(&stream), "cudaStreamCreate");
        void *workspace = NULL, *weights = NULL;
        for (uint32_t i = 0; i < d->region_count; i++) {
                const struct dnncc_region_1 *r = &d->regions[i];
                void *memory = executor_memory(r->name, r->size, r->align, at_end);
                (std::string(r->name) == "weights" ? weights : workspace) = memory;
                pointers.push_back(memory);
        }
        for (uint32_t i = 0; i < d->input_count; i++) {
                pointers.push_back(executor_memory(d->inputs[i].name, d->inputs[i].bytes, align_of(&d->inputs[i]), at_end));
                must(cudaMemcpyAsync(pointers.back(), inputs[i].data(), inputs[i].size(), cudaMemcpyHostToDevice, stream), "the input's copy");
        }
        size_t first_output = pointers.size();
        for (uint32_t i = 0; i < d->output_count; i++)
                pointers.push_back(executor_memory(d->outputs[i].name, d->outputs[i].bytes, align_of(&d->outputs[i]), at_end));
        must_be_0(model->prepare(), "prepare");
        if (model->load && weights)
                must_be_0(model->load(weights, stream), "load");
        if (graphed) {
                cudaGraph_t graph;
                cudaGraphExec_t made;
                must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
                must_be_0(model->run(pointers.data(), stream), "run under capture");
                must(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
                must(cudaGraphInstantiate(&made, graph), "cudaGraphInstantiate");
                for (int k = 0; k < 2; k++)
                        must(cudaGraphLaunch(made, stream), "cudaGraphLaunch");
        } else {
                must_be_0(model->run(pointers.data(), stream), "run");
        }
        must_be_0(model->status(workspace, stream), "status");
        std::vector<bytes> outputs;
        for (uint32_t i = 0; i < d->output_count; i++) {
                outputs.emplace_back(d->outputs[i].bytes);
                must(cudaMemcpyAsync(outputs.back().data(), pointers[first_output + i], outputs.back().size(), cudaMemcpyDeviceToHost, stream), "the output's copy");
        }
        must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        for (uint32_t i = 0; i < d->input_count; i++)
                if (memcmp(pointers[d->region_count + i], inputs[i].data(), inputs[i].size()))
                        fail("an input was written");
        for (void *p : pointers)
                executor_free(p);
        must(cudaStreamDestroy(stream), "cudaStreamDestroy");
        return outputs;
}

static void run_model(const struct executor_model *model, const std::string &in, const std::string &out, const char *executions)
{
        const struct dnncc_model_1 *d = model->describe();
        std::vector<bytes> inputs, first;
        for (uint32_t i = 0; i < d->input_count; i++)
                inputs.push_back(read_file(in + "/" + std::to_string(i) + ".bin", d->inputs[i].bytes));
        int turn = 0;
        for (const char *e = executions; *e; e++) {
                if (*e < '0' || *e > '5')
                        continue;
                executor_execution(*e - '0');
                std::vector<bytes> outputs = run_once(model, inputs, turn % 2 == 0, executor.order == BACKWARDS);
                if (turn++ == 0)
                        first = outputs;
                for (size_t i = 0; i < outputs.size(); i++)
                        if (outputs[i] != first[i])
                                fail(std::string("execution ") + *e + " gives other bits in output " + d->outputs[i].name);
        }
        for (size_t i = 0; i < first.size(); i++)
                write_file(out + "/" + std::to_string(i) + ".bin", first[i]);
        const struct executor::executor_counts *c = &executor.counts;
        printf("%s ok {\"launches\": %lld, \"blocks\": %lld, \"threads\": %lld, \"barriers\": %lld, \"warp_instructions\": %lld, \"mma\": %lld, "
               "\"ldmatrix\": %lld, \"conflicts\": %lld, \"copied\": %lld, "
               "\"bank_conflicts\": %lld, \"sectors\": %lld, \"least_sectors\": %lld}\n",
               model->name, (long long)c->launches, (long long)c->blocks, (long long)c->threads, (long long)c->barriers, (long long)c->warp_instructions,
               (long long)c->mma, (long long)c->ldmatrix, (long long)c->conflicts, (long long)c->copied,
               (long long)c->bank_conflicts, (long long)c->sectors, (long long)c->least_sectors);
        fflush(stdout);
}

/* in a process of its own; what it says on standard error is its line */
static bool run_apart(const struct executor_model *model, const char *in, const char *out, const char *executions)
{
        int pipes[2], status;
        fflush(stdout);
        if (pipe(pipes))
                fail("no pipe");
        pid_t child = fork();
        if (child == 0) {
                dup2(pipes[1], 2);
                close(pipes[0]);
                run_model(model, in, out, executions);
                exit(0);
        }
        close(pipes[1]);
        std::string said;
        char text[4096];
        for (ssize_t n; (n = read(pipes[0], text, sizeof text)) > 0;)
                said.append(text, (size_t)n);
        close(pipes[0]);
        waitpid(child, &status, 0);
        if (status == 0 && said.empty())
                return true;
        std::replace(said.begin(), said.end(), '\n', ' ');
        printf("%s %s (exit %d, signal %d)\n", model->name, said.c_str(), WEXITSTATUS(status), WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        return false;
}

static const struct executor_model *find(const std::string &name)
{
        for (int i = 0; i < executor_model_count; i++)
                if (name == executor_models[i].name)
                        return &executor_models[i];
        fail("no model " + name);
}

/* one line of JSON for each input and output, as test/host.c has it */
static void describe(const struct executor_model *model)
{
        const struct dnncc_model_1 *d = model->describe();
        for (uint32_t i = 0; i < d->input_count + d->output_count; i++) {
                const struct dnncc_tensor_1 *t = i < d->input_count ? &d->inputs[i] : &d->outputs[i - d->input_count];
                printf("{\"%s\": %u, \"type\": %d, \"shape\": [", i < d->input_count ? "input" : "output", i, (int)t->type);
                for (int k = 0; k < t->rank; k++)
                        printf("%s%lld", k ? ", " : "", (long long)t->shape[k]);
                printf("]}\n");
        }
}

int main(int argc, char **argv)
{
        bool right = true;
        executor.cut_off = getenv("EXECUTOR_CUT_OFF") != NULL;
        if (argc == 3 && !strcmp(argv[1], "--describe")) {
                describe(find(argv[2]));
                return 0;
        }
        if (argc < 5 || argc % 3 != 2)
                fail("usage: host EXECUTIONS [NAME IN_DIR OUT_DIR]... | --describe NAME");
        for (int i = 2; i < argc; i += 3)
                right &= run_apart(find(argv[i]), argv[i + 1], argv[i + 2], argv[1]);
        return !right;
}
