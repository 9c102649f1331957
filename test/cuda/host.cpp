/* SPDX-License-Identifier: MIT */
/* Runs generated models by the executor: link it with their objects and with a table of them (test/support/cuda.py writes both).
 *
 *     host EXECUTIONS [NAME IN_DIR OUT_DIR]...
 *
 * EXECUTIONS is a list such as 0,4 (executor.h). Each model runs in a process of its own, in every execution: prepared, its weights loaded,
 * run on a stream, its status asked for; those backwards by a graph that is captured and launched twice. Memory lies between guards,
 * ends where a page does in the first execution and begins there in the next, and is NaN. All executions must give the same bits. IN_DIR/0.bin, ...
 * are read and OUT_DIR/0.bin, ... written, as test/host.c does. Where IN_DIR has a file `runs`, each line is one of several runs, with state kept from
 * one to the next: the entry's model, how many extents it is given and these, and the bytes of its inputs and outputs; run k has IN_DIR/k.0.bin, ...
 * and OUT_DIR/k.0.bin, ...
 *
 * Where the environment has EXECUTOR_CUT_OFF, sums of products are cut off as tensor cores cut them (sums.h).
 *
 * One line for each model: NAME ok, or NAME and what was found. After it what was counted. Exit: 0, 1 when anything was found. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
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

/* one run: its entry, the extents it is given, and how many bytes inputs and outputs have */
struct run_of {
        const struct executor_model *model;
        std::vector<int64_t> extents;
        std::vector<size_t> sizes;
        std::vector<bytes> inputs;
};

static const struct executor_model *find(const std::string &name)
{
        for (int i = 0; i < executor_model_count; i++)
                if (name == executor_models[i].name)
                        return &executor_models[i];
        fail("no model " + name);
}

static void launch(const struct executor_model *model, const std::vector<void *> &pointers, int64_t *extents, bool graphed, int times, cudaStream_t stream)
{
        if (graphed) {
                cudaGraph_t graph;
                cudaGraphExec_t made;
                must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
                must_be_0(model->run(pointers.data(), extents, stream), "run under capture");
                must(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
                must(cudaGraphInstantiate(&made, graph), "cudaGraphInstantiate");
                for (int k = 0; k < times; k++)
                        must(cudaGraphLaunch(made, stream), "cudaGraphLaunch");
        } else {
                must_be_0(model->run(pointers.data(), extents, stream), "run");
        }
}

/* The runs one after the other; returns their outputs. State lasts, and the extents that are state; weights are loaded once. */
static std::vector<bytes> run_all(const std::vector<run_of> &runs, bool at_end, bool graphed)
{
        std::vector<bytes> outputs;
        std::map<std::string, void *> lasting;
        std::vector<int64_t> kept(64, 0);
        cudaStream_t stream;
        must(cudaStreamCreate(&stream), "cudaStreamCreate");
        for (const run_of &r : runs) {
                const struct dnncc_model_1 *d = r.model->describe();
                std::vector<void *> pointers;
                void *workspace = NULL;
                for (uint32_t i = 0; i < d->region_count; i++) {
                        const struct dnncc_region_1 *region = &d->regions[i];
                        const bool is_weights = std::string(region->name) == "weights", lasts = is_weights || region->kind == 1;
                        void *memory = lasts && lasting.count(region->name) ? lasting[region->name] : executor_memory(region->name, region->size, region->align, at_end);
                        if (region->kind == 1 && !lasting.count(region->name))
                                must(cudaMemcpyAsync(memory, bytes(region->size, 0).data(), region->size, cudaMemcpyHostToDevice, stream), "the state's copy");
                        if (is_weights && !lasting.count(region->name)) {
                                must_be_0(r.model->prepare(), "prepare");
                                if (r.model->load)
                                        must_be_0(r.model->load(memory, stream), "load");
                        }
                        if (lasts)
                                lasting[region->name] = memory;
                        else
                                workspace = memory;
                        pointers.push_back(memory);
                }
                for (uint32_t i = 0; i < d->input_count; i++) {
                        pointers.push_back(executor_memory(d->inputs[i].name, r.sizes[i], align_of(&d->inputs[i]), at_end));
                        must(cudaMemcpyAsync(pointers.back(), r.inputs[i].data(), r.inputs[i].size(), cudaMemcpyHostToDevice, stream), "the input's copy");
                }
                size_t first_output = pointers.size();
                for (uint32_t i = 0; i < d->output_count; i++)
                        pointers.push_back(executor_memory(d->outputs[i].name, r.sizes[d->input_count + i], align_of(&d->outputs[i]), at_end));
                must_be_0(r.model->prepare(), "prepare");
                std::vector<int64_t> extents(kept.begin(), kept.begin() + r.model->kept);
                extents.insert(extents.end(), r.extents.begin(), r.extents.end());
                extents.resize(extents.size() + 64);
                launch(r.model, pointers, extents.data(), graphed, lasting.count("state") ? 1 : 2, stream);
                std::copy(extents.begin(), extents.begin() + r.model->kept, kept.begin());
                must_be_0(r.model->status(workspace, stream), "status");
                for (uint32_t i = 0; i < d->output_count; i++) {
                        outputs.emplace_back(r.sizes[d->input_count + i]);
                        must(cudaMemcpyAsync(outputs.back().data(), pointers[first_output + i], outputs.back().size(), cudaMemcpyDeviceToHost, stream), "the output's copy");
                }
                must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
                for (uint32_t i = 0; i < d->input_count; i++)
                        if (memcmp(pointers[d->region_count + i], r.inputs[i].data(), r.inputs[i].size()))
                                fail("an input was written");
                for (size_t i = 0; i < pointers.size(); i++)
                        if (i >= d->region_count || !lasting.count(d->regions[i].name))
                                executor_free(pointers[i]);
        }
        for (auto &memory : lasting)
                executor_free(memory.second);
        must(cudaStreamDestroy(stream), "cudaStreamDestroy");
        return outputs;
}

/* of IN_DIR/runs, or the one run that the model's own sizes say; *names: the files of the outputs */
static std::vector<run_of> read_runs(const struct executor_model *model, const std::string &in, std::vector<std::string> *names)
{
        std::vector<run_of> runs;
        std::ifstream file(in + "/runs");
        std::string line, name;
        while (file && std::getline(file, line)) {
                std::istringstream words(line);
                run_of r;
                size_t count, number;
                words >> name >> count;
                r.model = find(name);
                r.extents.resize(count);
                for (auto &extent : r.extents)
                        words >> extent;
                while (words >> number)
                        r.sizes.push_back(number);
                runs.push_back(r);
        }
        const bool one = runs.empty();
        if (one)
                runs.push_back({ model, {}, {}, {} });
        for (size_t k = 0; k < runs.size(); k++) {
                run_of &r = runs[k];
                const struct dnncc_model_1 *d = r.model->describe();
                const std::string before = one ? "" : std::to_string(k) + ".";
                for (uint32_t i = 0; one && i < d->input_count + d->output_count; i++)
                        r.sizes.push_back(i < d->input_count ? d->inputs[i].bytes : d->outputs[i - d->input_count].bytes);
                if (r.sizes.size() != d->input_count + d->output_count)
                        fail("want the sizes of " + std::to_string(d->input_count) + " inputs and " + std::to_string(d->output_count) + " outputs");
                for (uint32_t i = 0; i < d->input_count; i++)
                        r.inputs.push_back(read_file(in + "/" + before + std::to_string(i) + ".bin", r.sizes[i]));
                for (uint32_t i = 0; i < d->output_count; i++)
                        names->push_back(before + std::to_string(i) + ".bin");
        }
        return runs;
}

static void run_model(const struct executor_model *model, const std::string &in, const std::string &out, const char *executions)
{
        std::vector<std::string> names;
        const std::vector<run_of> runs = read_runs(model, in, &names);
        std::vector<bytes> first;
        int turn = 0;
        for (const char *e = executions; *e; e++) {
                if (*e < '0' || *e > '5')
                        continue;
                executor_execution(*e - '0');
                std::vector<bytes> outputs = run_all(runs, turn % 2 == 0, executor.order == BACKWARDS);
                if (turn++ == 0)
                        first = outputs;
                for (size_t i = 0; i < outputs.size(); i++)
                        if (outputs[i] != first[i])
                                fail(std::string("execution ") + *e + " gives other bits in output " + names[i]);
        }
        for (size_t i = 0; i < first.size(); i++)
                write_file(out + "/" + names[i], first[i]);
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

/* one line of JSON for each input and output, as test/host.c has it */
static void describe(const struct executor_model *model)
{
        const struct dnncc_model_1 *d = model->describe();
        for (uint32_t i = 0; i < d->input_count + d->output_count; i++) {
                const struct dnncc_tensor_1 *t = i < d->input_count ? &d->inputs[i] : &d->outputs[i - d->input_count];
                printf("{\"%s\": %u, \"type\": %d, \"shape\": [", i < d->input_count ? "input" : "output", i, (int)t->type);
                for (int k = 0; k < t->rank; k++)
                        printf("%s%lld", k ? ", " : "", (long long)t->shape[k]);
                printf("], \"symbols\": [");
                for (int k = 0; t->symbols && k < t->rank; k++)
                        printf(t->symbols[k] ? "%s\"%s\"" : "%snull", k ? ", " : "", t->symbols[k]);
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
